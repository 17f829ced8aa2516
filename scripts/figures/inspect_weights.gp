# Where do chosen heads look? Their weights, query by query, one panel a head.
#   scripts/draw inspect_weights results/inspect_weights.csv weights.png   (or .svg)
# Takes the _weights.csv that `sqrtdk inspect --heads LIST` writes, up to 12 heads in all; of the .meta
# beside it, if there is one, scale and mask. Where all heads have as many queries as keys the panels are
# square, and the page is as high as they need.
NAME = "inspect_weights"; CSV = ARG1; OUT = ARG2; KIND = "the _weights.csv of sqrtdk inspect --heads"
NEEDS = "layer batch head query key visible weight"
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "page.gp"

# ---- What is in the file: of each panel, in the file's order, layer and head, how many queries and keys;
# of the rows that see a key the mean entropy, the mean weight on keys i and i-1 of query i, and the
# key with the most weight, and how much.
FACTS = system("LC_ALL=C awk -F, 'NR > 1 { p = $1 \" \" $3; if (!(p in q)) panel[++n] = p; if ($4 + 1 > q[p]) q[p] = $4 + 1; if ($5 + 1 > k[p]) k[p] = $5 + 1; \
    if ($6 == 1 && !((p, $4) in sees)) { sees[p, $4]; rows[p]++ } if ($7 > 0) e[p] -= $7 * log($7); \
    if ($5 == $4 || $5 == $4 - 1) near[p] += $7; w[p, $5] += $7 } \
    END { for (i = 1; i <= n; i++) { p = panel[i]; r = rows[p] ? rows[p] : 1; top = 0; \
        for (j = 1; j < k[p]; j++) if (w[p, j] > w[p, top]) top = j; \
        printf \"%s %d %d %.2f %.6f %d %.6f \", p, q[p], k[p], e[p] / r, near[p] / r, top, w[p, top] / r } }' <'" . quoted(CSV) . "'")
fact(p, i) = word(FACTS, 8 * (p - 1) + i)
layer(p) = fact(p, 1); head(p) = fact(p, 2); queries(p) = fact(p, 3) + 0; keys(p) = fact(p, 4) + 0
near(p) = fact(p, 6) + 0; most(p) = fact(p, 8) + 0
N = words(FACTS) / 8
if (N > 12) { eval die(sprintf("%d heads in %s; up to 12 can be drawn", N, plain(CSV))) }
# Panels of one size share the numbers on their axes: below and at the left.
SAME = 1; SQUARE = 1
do for [p = 1:N] {
    if (queries(p) != queries(1) || keys(p) != keys(1)) { SAME = 0 }
    if (queries(p) != keys(p)) { SQUARE = 0 }
}

# ---- Places, in units of a page 800 wide; a panel with its title has WIDE x HIGH.
COLS = N <= 3 ? N : N == 4 ? 2 : N <= 6 ? 3 : 4
ROWS = int(ceil(1.0 * N / COLS))
LEFT = 52; RIGHT = 684; ABOVE = 68; BELOW = 54; TITLE = 26
SPACE = SAME ? 18 : 34     # between panels: without or with numbers
WIDE = 1.0 * (RIGHT - LEFT) / COLS
TALL = SQUARE ? int(ABOVE + BELOW + ROWS * (WIDE - SPACE + TITLE) + (ROWS - 1) * (SAME ? 0 : SPACE)) : 500
HIGH = 1.0 * (TALL - ABOVE - BELOW) / ROWS
x_(v) = v / 800.0
y_(v) = 1 - 1.0 * v / TALL
if (TALL != 500) {
    o_ = GPVAL_TERMOPTIONS; s_ = EXT eq ".svg" ? "800,500" : strstrt(o_, "1200, 750") ? "1200, 750" : "1200,750"; at_ = strstrt(o_, s_)
    eval "set terminal " . GPVAL_TERM . " " . o_[1:at_ - 1] . (EXT eq ".svg" ? sprintf("800,%d", TALL) : sprintf("1200,%d", 1.5 * TALL)) . o_[at_ + strlen(s_):*]
}

# ---- Words. Names of layers that do not fit are shortened, with a word below on what they are.
LAYERS = ""
do for [p = 1:N] { LAYERS = with(LAYERS, layer(p)) }
STEM = strlen(CSV) > 12 && CSV[strlen(CSV) - 11:*] eq "_weights.csv" ? CSV[1:strlen(CSV) - 12] : CSV
load HERE . "inspect_common.gp"
SHORT = LAYERS; WHOLE = ""
room(words_) = int(WIDE / 7.6) - strlen(words_) - 12     # for a layer's name, beside the head and the nats
LONG = longest(LAYERS) <= room("layer , head ")
if (longest(LAYERS) > room("L H")) { eval SHORTEN }
short(p) = (at_ = 1, sum [i = 1:words(LAYERS)] (word(LAYERS, i) eq layer(p) ? (at_ = i) : 0), word(SHORT, at_))
ending(s, n) = strlen(s) <= n ? s : ".." . s[strlen(s) - n + 3:*]
name(p) = LONG ? sprintf("layer %s, head %s", layer(p), head(p)) : \
    sprintf("%s%s H%s", digits(short(p)) ? "L" : "", ending(short(p), max(6, room("L H"))), head(p))
who(p) = sprintf("layer %s, head %s", short(p), head(p))
share(v) = sprintf("%.0f%%", 100 * v)
spread(a, b) = share(a) eq share(b) ? share(a) : sprintf("%.0f to %.0f%%", 100 * a, 100 * b)
# What the title says is the largest of: the share of keys i and i-1, of one head; of one key, of one head.
A = 1; B = 1
do for [p = 2:N] { if (near(p) > near(A)) { A = p }; if (most(p) > most(B)) { B = p } }
LEAST = 1; NEXT = 0; NEXT_KEY = 0
do for [p = 1:N] {
    if (p != A) { LEAST = min(LEAST, near(p)); NEXT = max(NEXT, near(p)) }
    if (p != B) { NEXT_KEY = max(NEXT_KEY, most(p)) }
}
title_ = SQUARE && near(A) >= most(B) ? \
    sprintf("Query i gives keys i and i-1 %s of its weight in %s%s", share(near(A)), who(A), N == 1 ? "" : "; " . spread(LEAST, NEXT) . " in the other" . (N > 2 ? "s" : "")) : \
    sprintf("Key %s has %s of the weight in %s%s", fact(B, 7), share(most(B)), who(B), N == 1 ? "" : sprintf("; in the other%s no key has more than %s", N > 2 ? "s" : "", share(NEXT_KEY)))
facts_ = (LONG ? "" : (digits(short(1)) ? "above: L layer, H head; " : "above: layer, H head; ")) . "a row is a query; shares and nats of entropy: means over rows" . (strlen(setting("scale")) ? "; scale " . setting("scale") : "") . SETTINGS

# ---- Drawing.
set output OUT
unset key
eval heading(title_, facts_)
set label 1 at screen 0.015, screen y_(23)
set label 2 at screen 0.015, screen y_(47)
# A light ramp for small weights: the root spreads them, the ticks say the weight itself.
set palette defined (0 "#FFFFFF", 0.12 "#E3ECF6", 0.35 "#9FC0DF", 0.6 "#4A86BE", 0.8 "#1B4F8C", 1 "#08203F")
set cbrange [0:1]
set cbtics ("0" 0, "0.01" 0.1, "0.05" sqrt(0.05), "0.1" sqrt(0.1), "0.25" 0.5, "0.5" sqrt(0.5), "1" 1) scale 0.5 textcolor rgb "#333333"
set cblabel "weight (root scale)" offset (EXT eq ".svg" ? -0.6 : 0.2), 0
set border 15 lc rgb GREY lw 0.7
set tics out scale 0.4 nomirror textcolor rgb "#333333"
eval y_name(3, "query", (y_(ABOVE + TITLE) + y_(TALL - BELOW)) / 2)
set label 4 "key" at screen x_((LEFT + RIGHT) / 2.0), screen y_(TALL - 11) center noenhanced
set label 5 WHOLE at screen 0.985, screen y_(TALL - 11) right noenhanced textcolor rgb GREY
# One head as "key,query,root of the weight", a masked key without a number.
rows(p) = sprintf("< awk -F, -v l='%s' -v h=%s 'NR > 1 && $1 \"\" == l \"\" && $3 == h { print $5 \",\" $4 \",\" ($6 == 1 ? sqrt($7) : \"NaN\") }' <'%s'", layer(p), head(p), quoted(CSV))
every(n) = n <= 12 ? 2 : 10 * ceil(n / 40.0)
set datafile nocolumnheaders
set multiplot
do for [p = 1:N] {
    col_ = (p - 1) % COLS; row_ = (p - 1) / COLS
    left_ = LEFT + col_ * WIDE; top_ = ABOVE + row_ * HIGH + TITLE
    width_ = WIDE - SPACE; height_ = SQUARE ? width_ : HIGH - TITLE - (SAME ? 0 : SPACE)
    set lmargin at screen x_(left_); set rmargin at screen x_(left_ + width_)
    set tmargin at screen y_(top_); set bmargin at screen y_(top_ + height_)
    set title sprintf("%s: %s nats", name(p), fact(p, 5)) noenhanced offset 0, -0.6
    set format x (SAME && p + COLS <= N ? "" : "%g"); set format y (SAME && col_ > 0 ? "" : "%g")
    if (p == N) {
        set colorbox user origin screen x_(RIGHT + 10), screen y_(TALL - BELOW) size screen x_(16), screen y_(ABOVE + TITLE) - y_(TALL - BELOW)
    } else {
        unset colorbox
    }
    set xtics 0, every(keys(p)); set ytics 0, every(queries(p))
    plot [-0.5:keys(p) - 0.5] [queries(p) - 0.5:-0.5] rows(p) using 1:2:3 with image
    unset label 1; unset label 2; unset label 3; unset label 4; unset label 5
}
unset multiplot
unset output
