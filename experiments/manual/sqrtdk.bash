# shellcheck shell=bash
# Completion of sqrtdk for bash 3.2 and later, made from the program's tables of options.

# Words by key: of help the commands, of a command its options, of "COMMAND --OPTION" the kind of its value
# (FILE, LIST, N, ...) and what it may be.
# TABLE

_sqrtdk() {
    local line=${COMP_LINE:0:COMP_POINT} word whole option command kind values head='' before='' fixed item
    local -a typed
    COMPREPLY=()
    read -r -a typed <<<"$line"
    word=${line##*[[:space:]]} whole=$word
    [ -z "$word" ] || unset "typed[${#typed[@]} - 1]"
    command=${typed[1]-}
    option=${typed[${#typed[@]} - 1]}
    case $word in
    --*=*)
        option=${word%%=*} head=${word%%=*}=
        word=${word#*=}
        ;;
    esac

    case $command in
    '') values="WORD $(_sqrtdk_table help) help --help --version" ;;
    help) values="WORD $(_sqrtdk_table help)" ;;
    *)
        values=$(_sqrtdk_table "$command $option")
        [ -n "$values" ] || [[ $word == -* ]] || values=$(_sqrtdk_table "$command operand")
        [ -n "$values" ] || values="WORD $(_sqrtdk_table "$command")"
        ;;
    esac
    kind=${values%% *} values=${values#"${values%% *}"}

    # Where nothing is offered bash completes names of files itself, but not behind a comma.
    case $kind in
    FILE | DIR) return ;;
    FILES)
        [[ $word == *,* ]] || return
        values=$(compgen -f -- "${word##*,}")
        local IFS=$'\n'
        ;;
    esac
    case $kind in
    LIST | FILES)
        before=${word%"${word##*,}"}
        type compopt >/dev/null 2>&1 && compopt -o nospace
        ;;
    *) type compopt >/dev/null 2>&1 && compopt +o default ;;
    esac

    # Of a word with = or : in it bash replaces what stands behind that only.
    fixed=${COMP_WORDS[COMP_CWORD]}
    case $fixed in [=:]) fixed= ;; esac
    [[ $whole == *"$fixed" ]] && fixed=${whole%"$fixed"} || fixed=
    for item in $values; do
        case ",$before" in *",$item,"*) continue ;; esac # each once
        [ "$kind" != FILES ] || printf -v item %q "$item"
        item=$head$before$item
        [[ $item != "$whole"* ]] || COMPREPLY+=("${item#"$fixed"}")
    done
}
complete -o default -F _sqrtdk sqrtdk
