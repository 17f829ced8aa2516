# What every figure shares: reading of a CSV's header, terminal, lists of words, heading. Not a figure
# itself. A figure sets NAME, CSV, OUT, KIND (what CSV should be) and NEEDS (the columns it reads), and
# loads this file, directly or through common.gp. Needs gnuplot 5.4 or later.

reset
set encoding utf8

# ---- Arguments and columns: fail in one line of our own (status 2), before gnuplot fails in five.
die(s) = sprintf("print '%s: %s'; exit status 2", NAME, s)
quoted(s) = strstrt(s, "'") == 0 ? s : s[1:strstrt(s, "'") - 1] . "'\\''" . quoted(s[strstrt(s, "'") + 1:*])
plain(s)  = strstrt(s, "'") == 0 ? s : s[1:strstrt(s, "'") - 1] . "''" . plain(s[strstrt(s, "'") + 1:*])
line(n)   = system(sprintf("sed -n %dp '%s' 2>/dev/null || :", n, quoted(CSV)))
ragged(f) = system(sprintf("awk -F, 'NR == 1 { n = NF } NF != n { print NR; exit }' <'%s'", quoted(f)))
has(c)    = strstrt("," . HEADER . ",", "," . c . ",") > 0

if (strlen(CSV) == 0 || strlen(OUT) < 5) { eval die("usage: scripts/draw FIGURE CSV OUT.png|OUT.svg") }
EXT = OUT[strlen(OUT) - 3:*]
if (EXT ne ".png" && EXT ne ".svg") { eval die("the output must end in .png or .svg") }
if (CSV[1:1] eq "-" || CSV[1:1] eq "<") { CSV = "./" . CSV }
HEADER = line(1)
if (strlen(HEADER) == 0) { eval die("cannot read " . plain(CSV) . ", or it is empty") }
do for [c in NEEDS] { if (!has(c)) { eval die("no column " . c . " in " . plain(CSV) . " (" . KIND . " is wanted)") } }
if (strlen(line(2)) == 0) { eval die("no rows in " . plain(CSV)) }
BAD = ragged(CSV)
if (strlen(BAD)) { eval die("line " . BAD . " of " . plain(CSV) . " has not the number of fields of its header: a file cut short?") }

# ---- Terminal: cairo's PNG, else the other one, else SVG. One layout of 800 x 500, PNG at 1.5 times.
terminal(t) = strstrt(" " . GPVAL_TERMINALS . " ", " " . t . " ") > 0
if (EXT eq ".png" && !terminal("pngcairo") && !terminal("png")) {
    OUT = OUT[1:strlen(OUT) - 4] . ".svg"
    EXT = ".svg"
    print NAME . ": note: this gnuplot has no PNG terminal; drawing an SVG instead"
}
if (EXT eq ".svg" && !terminal("svg")) { eval die("this gnuplot has neither a PNG nor an SVG terminal") }
if (EXT eq ".svg") {
    set terminal svg size 800,500 font "sans-serif,13" background rgb "white"
} else {
    if (terminal("pngcairo")) {
        set terminal pngcairo size 1200,750 font "sans,10" fontscale 1.5 linewidth 1.5 pointscale 1.5 background rgb "white"
    } else {
        set terminal png size 1200,750 truecolor font "sans,10" fontscale 1.5 linewidth 1.5 background rgb "white"
    }
}

set datafile separator ","
set datafile columnheaders

# ---- Numbers and lists of words.
min(a, b) = a < b ? a : b
max(a, b) = a > b ? a : b
in(list, s) = strstrt(" " . list . " ", " " . s . " ") > 0
with(list, s) = in(list, s) ? list : strlen(list) ? list . " " . s : s
digits(s) = strlen(s) > 0 && (sum [i = 1:strlen(s)] (strstrt("0123456789", s[i:i]) == 0)) == 0
plural(n, s) = sprintf("%d %s%s", n, s, n == 1 ? "" : "s")
GREY = "#666666"
# (The terminal "png" may find no font but its own, which has no such sign.)
ROOT = EXT eq ".png" && !terminal("pngcairo") ? "sqrt(d_k)" : "√d_k"

# ---- Heading: what is seen, then the facts. At the page's corner, so that panels share it.
heading(a, b) = sprintf("set label 1 \"%s\" at screen 0.015, screen 0.955 left noenhanced font ',%.1f';", a, H1 * min(1, 88.0 / strlen(a))) \
    . sprintf("set label 2 \"%s\" at screen 0.015, screen 0.905 left noenhanced textcolor rgb GREY font ',%.1f';", b, H2 * min(1, 108.0 / strlen(b)))
# An axis' name at the page's edge, where no tick's number can reach it.
y_name(n, text, y) = sprintf("set label %d \"%s\" at screen 0.013, screen %g rotate by 90 center noenhanced", n, text, y)
H1 = EXT eq ".svg" ? 17 : 13     # both shrink when they would not fit
H2 = EXT eq ".svg" ? 13 : 10
