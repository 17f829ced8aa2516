# Where do chosen heads look? Their weights, query by query, one panel a head.
#   gnuplot -c scripts/figures/inspect_weights.gp results/inspect_weights.csv weights.png   (or .svg)
# Takes the _weights.csv that `sqrtdk inspect --heads LIST` writes, up to 12 heads in all.
NAME = "inspect_weights"; CSV = ARG1; OUT = ARG2; KIND = "the _weights.csv of sqrtdk inspect --heads"
NEEDS = "layer batch head query key visible weight"
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "page.gp"

# The panels in the file's order, as "layer/head", and their sizes.
PANELS = system(sprintf("awk -F, 'NR > 1 { k = $1 \"/\" $3; if (!(k in seen)) { seen[k] = 1; printf \"%%s \", k } }' <'%s'", quoted(CSV)))
N = words(PANELS)
if (N > 12) { eval die(sprintf("%d heads in %s; up to 12 can be drawn", N, plain(CSV))) }
COLS = N <= 3 ? N : N == 4 ? 2 : N <= 6 ? 3 : 4
ROWS = int(ceil(1.0 * N / COLS))
layer(p) = word(PANELS, p)[1:strstrt(word(PANELS, p), "/") - 1]
head(p) = word(PANELS, p)[strstrt(word(PANELS, p), "/") + 1:*]
# One head as "key,query,root of the weight", a masked key without a number; and its figures.
rows(p) = sprintf("< awk -F, -v l=%s -v h=%s 'NR > 1 && $1 == l && $3 == h { print $5 \",\" $4 \",\" ($6 == 1 ? sqrt($7) : \"NaN\") }' <'%s'", layer(p), head(p), quoted(CSV))
figures(p) = system(sprintf("LC_ALL=C awk -F, -v l=%s -v h=%s 'NR > 1 && $1 == l && $3 == h { if ($4 + 1 > q) q = $4 + 1; if ($5 + 1 > k) k = $5 + 1; if ($6 == 1) see[$4] = 1; if ($7 > 0) e -= $7 * log($7) } END { for (i in see) n++; printf \"%%d %%d %%.2f\", q, k, n ? e / n : 0 }' <'%s'", layer(p), head(p), quoted(CSV)))

# Panels of one size share the numbers on their axes: below and at the left.
SAME = 1
do for [p = 2:N] { f_ = figures(p); g_ = figures(p - 1); if (word(f_, 1) ne word(g_, 1) || word(f_, 2) ne word(g_, 2)) { SAME = 0 } }
name(p) = COLS < 4 ? sprintf("layer %s, head %s", layer(p), head(p)) : sprintf("L%s H%s", layer(p), head(p))

set output OUT
unset key
eval heading(sprintf("Where %s", N == 1 ? "one head looks" : sprintf("%d heads look", N)), \
    (COLS < 4 ? "" : "L layer, H head; ") . "weight of each key (across) for each query (down); nats: entropy, mean over rows")
# A light ramp for small weights: the root spreads them, the ticks say the weight itself.
set palette defined (0 "#FFFFFF", 0.12 "#E3ECF6", 0.35 "#9FC0DF", 0.6 "#4A86BE", 0.8 "#1B4F8C", 1 "#08203F")
set cbrange [0:1]
set cbtics ("0" 0, "0.01" 0.1, "0.05" sqrt(0.05), "0.1" sqrt(0.1), "0.25" 0.5, "0.5" sqrt(0.5), "1" 1) scale 0.5 textcolor rgb "#333333"
set cblabel "weight (root scale)" offset (EXT eq ".svg" ? -0.6 : 0.2), 0
set border 15 lc rgb GREY lw 0.7
set tics out scale 0.4 nomirror textcolor rgb "#333333"
eval y_name(3, "query", 0.48)
set label 4 "key" at screen 0.465, screen 0.028 center noenhanced
LEFT = 0.065; RIGHT = 0.855; TOP = 0.86; BOTTOM = 0.09
WIDE = (RIGHT - LEFT) / COLS; HIGH = (TOP - BOTTOM) / ROWS
set datafile nocolumnheaders
set multiplot
do for [p = 1:N] {
    f_ = figures(p)
    q_ = word(f_, 1) + 0; k_ = word(f_, 2) + 0
    col_ = (p - 1) % COLS; row_ = (p - 1) / COLS
    set lmargin at screen LEFT + col_ * WIDE + 0.012; set rmargin at screen LEFT + (col_ + 1) * WIDE - 0.02
    set tmargin at screen TOP - row_ * HIGH - 0.04; set bmargin at screen TOP - (row_ + 1) * HIGH + (SAME ? 0.02 : 0.045)
    set title sprintf("%s: %s nats", name(p), word(f_, 3)) noenhanced offset 0, -0.6
    set format x (SAME && p + COLS <= N ? "" : "%g"); set format y (SAME && col_ > 0 ? "" : "%g")
    if (p == N) {
        set colorbox user origin screen 0.868, screen BOTTOM + 0.02 size screen 0.02, screen TOP - BOTTOM - 0.06
    } else {
        unset colorbox
    }
    set xtics 0, max(1, 10 * ceil(k_ / 40.0)); set ytics 0, max(1, 10 * ceil(q_ / 40.0))
    if (k_ <= 12) { set xtics 0, 2 }
    if (q_ <= 12) { set ytics 0, 2 }
    plot [-0.5:k_ - 0.5] [q_ - 0.5:-0.5] rows(p) using 1:2:3 with image
    unset label 1; unset label 2; unset label 3; unset label 4
}
unset multiplot
unset output
