# Numbers of results, by marks such as a document has them; the head of scripts/check_readme says which.
# Whoever includes it defines complain(text), and sets the folders `expected` and `small`, which is
# looked into for a file that `expected` has not.

# rows[file], cell[file, row, column] and column[file, name], names[file] of a CSV.
function load(file,    path, line, f, n, i, r) {
    if (file in rows) return
    r = -1
    path = expected "/" file
    if ((getline line < path) < 0) path = small "/" file
    close(path)
    while ((getline line < path) > 0) {
        n = split(line, f, ",")
        if (++r == 0) names[file] = line
        for (i = 1; i <= n; i++) if (r) cell[file, r, i] = f[i]; else column[file, f[i]] = i
    }
    close(path)
    rows[file] = r
    if (r < 0) complain("cannot read " file)
}
function value(file, r, name) {
    if (rows[file] >= 0 && !((file, name) in column)) complain(file " has no column " name)
    return cell[file, r, column[file, name]]
}
function passes(file, r, filter,    at, x, y) {
    at = match(filter, /[=<>]/)
    x = value(file, r, substr(filter, 1, at - 1))
    y = substr(filter, at + 1)
    if (substr(filter, at, 1) == "=") return x "" == y ""
    return substr(filter, at, 1) == "<" ? x + 0 < y + 0 : x + 0 > y + 0
}
function sort(x, n,    i, j, y) {
    for (i = 2; i <= n; i++) {
        y = x[i]
        for (j = i - 1; j >= 1 && x[j] > y; j--) x[j + 1] = x[j]
        x[j + 1] = y
    }
}
function of_table(mark,    w, n, i, j, r, k, x, how, name, format) {
    n = split(mark, w, " ")
    i = 2
    how = w[i] ~ /^(median|min|max|count)$/ ? w[i++] : "one"
    if (how != "count") {
        name = w[i++]
        format = w[n--]
        if (format !~ /^%(\.[0-9]+)?[defg]$/) { complain("no format: " mark); return }
    }
    load(w[1])
    for (r = 1; r <= rows[w[1]]; r++) {
        for (j = i; j <= n && passes(w[1], r, w[j]); j++) continue
        if (j > n) x[++k] = how == "count" ? 1 : value(w[1], r, name) + 0
    }
    if (how == "count") return k + 0
    if (!k || (how == "one" && k > 1)) { complain(k + 0 " rows pass: " mark); return }
    sort(x, k)
    if (how == "max") return sprintf(format, x[k])
    if (how == "median") return sprintf(format, (x[int((k + 1) / 2)] + x[int(k / 2) + 1]) / 2)
    return sprintf(format, x[1])
}
# A text as one line, its blanks single; stands[file, line] for each line of it.
function read(file,    line, path) {
    if (file in text) return
    text[file] = ""
    path = expected "/" file
    if ((getline line < path) < 0) path = small "/" file
    close(path)
    while ((getline line < path) > 0) {
        stands[file, line]
        text[file] = text[file] " " line
    }
    close(path)
    if (text[file] == "") complain("cannot read " file)
    gsub(/ +/, " ", text[file])
}
function of_text(mark,    file, words, number, at, rest) {
    file = substr(mark, 1, index(mark, " ") - 1)
    words = substr(mark, length(file) + 3, length(mark) - length(file) - 3)
    number = "-?[0-9]+(\\.[0-9]+)?(e[-+]?[0-9]+)?"
    gsub(/[^A-Za-z0-9 #]/, "[&]", words)
    gsub(/#/, number, words)
    read(file)
    at = match(text[file], words " ?")
    rest = substr(text[file], at + RLENGTH)
    if (!at || match(rest, words) || match(rest, number) != 1) {
        complain("not once, before a number: " mark)
        return
    }
    return substr(rest, 1, RLENGTH)
}
function number_of(mark) { return mark ~ /^[^ ]+\.txt "[^"]+"$/ ? of_text(mark) : of_table(mark) }
