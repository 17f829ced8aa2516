# How sharp does the softmax of random q.k get as d_k grows? Entropy, largest weight and participation:
# measured means as points on the exact lines, for several numbers of keys, with the freezing line.
#   gnuplot -c scripts/figures/saturation_metrics.gp results/saturation.csv saturation_metrics.png   (or .svg)
# Takes the CSV of any `sqrtdk saturation` with the rule none or sqrt; shows four numbers of keys at most.
NAME = "saturation_metrics"; CSV = ARG1; OUT = ARG2
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "saturation_common.gp"

SHOWN = ""
do for [i = 1:min(NK, 4)] { SHOWN = with(SHOWN, word(KEYS, i)) }
if (NK > 4) { print NAME . ": note: shown are" . listed(SHOWN) . " keys, of" . listed(KEYS) }
N = words(SHOWN)
PANELS = "entropy_over_ln_n max_weight participation"
array SAYS[3] = ["entropy / ln n", "largest weight", "participation, sum of w^2"]
INKS = "#009E73 #0A3F73 #D55E00 #B0508A"
array RGB[4] = [0x009E73, 0x0A3F73, 0xD55E00, 0xB0508A]
FULL = "7 5 9 13"; HOLLOW = "6 4 8 12"
ink(i) = word(INKS, i)
point_of(i, s) = int(word(s eq word(PAIR, 1) ? FULL : HOLLOW, i))
# Which of the n shown is this row's? 0 for a row that is not shown. Bars that their point hides would only
# make an SVG large.
place(m) = (k_ = 0, in(PAIR, stringcolumn("scale")) && stringcolumn("metric") eq m && stringcolumn("statistic") eq "mean" ? \
    sum [i = 1:N] (column("keys") == word(SHOWN, i) + 0 ? (k_ = i) : 0) : 0, k_)
bar(x) = (e_ = 2 * num("standard_error"), e_ > 0.01 ? e_ : 0)
set style line 11 lw 1.5 dt solid
set style line 12 lw 1.5 dt (6, 3)
line_of(s) = s eq word(PAIR, 1) ? 11 : 12

title_ = sprintf("How sharp the softmax gets as d_k grows, %s keys", listed(SHOWN)[2:*])
if (in(PAIR, "none") && in(PAIR, "sqrt") && NDK > 1) {
    eval find("none", word(SHOWN, N) + 0, "max_weight", "mean")
    u_ = y1_
    eval find("sqrt", word(SHOWN, N) + 0, "max_weight", "mean")
    title_ = sprintf("d_k = %d, %s keys: the largest weight is %.2g without the scale, %.2g with it", DMAX, word(SHOWN, N), u_, y1_)
}

set output OUT
LEFT = 0.062; GAP = 0.045
WIDE = (0.972 - LEFT - 2 * GAP) / 3
DK_ROOM = 0.04 + 0.030 * strlen(word(DKS, NDK))
set tmargin at screen 0.735; set bmargin at screen 0.125
set multiplot
eval heading(title_, "mean over random rows of n keys, q and k ~ N(0,1); points measured (" . BARS . "), lines exact")
# A legend of two lines over the panels: a colour and a point for each n, filled or hollow for the rule.
do for [i = 1:N] {
    set label 20 + i sprintf("n = %s", word(SHOWN, i)) at screen 0.07 + 0.087 * (i - 1), screen 0.845 left offset 0.9, 0 point pt int(word(FULL, i)) ps 1 lc rgb ink(i) textcolor rgb ink(i)
}
at_ = 0.43
do for [s in PAIR] {
    set label (s eq word(PAIR, 1) ? 31 : 32) (s eq word(PAIR, 1) ? "full, solid: " : "hollow, dashed: ") . pretty(s) at screen at_, screen 0.845 left noenhanced textcolor rgb "#333333"
    at_ = at_ + 0.25
}
do for [p = 1:3] {
    M = word(PANELS, p)
    set lmargin at screen LEFT + (p - 1) * (WIDE + GAP)
    set rmargin at screen LEFT + (p - 1) * (WIDE + GAP) + WIDE
    set title SAYS[p] . " (no unit)" noenhanced offset 0, -0.4
    set xlabel "key width d_k (log scale)" noenhanced offset 0, 0.3
    set ytics 0.2 noenhanced
    do for [i = 1:N] {
        f_ = 2 * log(word(SHOWN, i) + 0.0)
        if (in(PAIR, "none") && f_ > XLO && f_ < XHI) { set arrow 60 + i from first f_, graph 0 to first f_, graph 0.97 nohead lw 1 dt (2, 3) lc rgb ink(i) }
    }
    unset label 40
    if (p == 1 && in(PAIR, "none")) { set label 40 "dotted: freezing\nline, 2 ln n" at graph 0.99, graph 0.60 right noenhanced textcolor rgb GREY }
    eval RAW
    SEEN_BARS = 0
    stats CSV using (place(M) > 0 && bar(0) > 0 ? (SEEN_BARS = 1) : 1) nooutput
    eval DK_AXIS
    # Put together as text, because a loop over nothing draws (and complains) once.
    eval 'plot [XLO:XHI] [0:1.02] ' . \
        (words(PAIR_LINES) == 0 ? '' : 'for [s in PAIR_LINES] for [i = 1:N] THEORY using (line_at(s, word(SHOWN, i) + 0) ? column("d_k") : NaN):(num(M)) \
            with lines ls line_of(s) lc rgb ink(i), ') . \
        (!SEEN_BARS ? '' : 'CSV using (place(M) > 0 && bar(0) > 0 ? column("d_k") : NaN):(num("value")):(bar(0)):(RGB[max(1, place(M))]) \
            with yerrorbars lw 1 pt 0 ps 0 lc rgb variable, ') . \
        'for [s in PAIR] for [i = 1:N] CSV using (at(s, word(SHOWN, i) + 0, M, "mean") ? column("d_k") : NaN):(num("value")) \
            with points lw 1 pt point_of(i, s) ps 0.8 lc rgb ink(i)'
    unset label 1; unset label 2; unset label 31; unset label 32
    do for [i = 1:N] { unset label 20 + i }
}
unset multiplot
unset output
