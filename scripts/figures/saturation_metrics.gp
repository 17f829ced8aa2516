# How sharp does the softmax of random q.k get as d_k grows? Entropy and largest weight: measured means as
# points on the exact lines, for several numbers of keys, each unscaled line with its freezing width.
#   scripts/draw saturation_metrics results/saturation.csv saturation_metrics.png   (or .svg)
# Takes the CSV of any `sqrtdk saturation` with the rule none or sqrt; shows four numbers of keys at most.
NAME = "saturation_metrics"; CSV = ARG1; OUT = ARG2
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "saturation_common.gp"

SHOWN = ""
do for [i = 1:min(NK, 4)] { SHOWN = with(SHOWN, word(KEYS, i)) }
eval left_out(PAIR, SHOWN)
N = words(SHOWN)
n(i) = word(SHOWN, i) + 0
FIRST = word(PAIR, 1); LAST = word(PAIR, words(PAIR))
PANELS = "entropy_over_ln_n max_weight"
eval only(PANELS)
array SAYS[2] = ["entropy / ln n", "largest weight"]
POINTS_NONE = "8 4 10 12"; POINTS_ELSE = "9 5 11 13"     # hollow without the scale, full else
point_of(s, i) = int(word(s eq "none" ? POINTS_NONE : POINTS_ELSE, i))
# Bars that their point hides would only make an SVG large.
wide(s, i, m) = at(s, n(i), m, "mean") && 2 * num("standard_error") > 0.01
stroke(s) = s eq "none" ? 11 : 12
set style line 11 lw 1.8 dt (6, 3)
set style line 12 lw 1.8 dt solid
set style textbox opaque noborder fillcolor rgb "white" margins 0.3, 0.3

title_ = sprintf("How sharp the softmax %s, %s keys", NDK > 1 ? "gets as d_k grows" : "is at d_k " . DKS, listed(SHOWN)[2:*])
if (in(PAIR, "none") && in(PAIR, "sqrt") && NDK > 1) {
    eval find("none", n(N), "max_weight", "mean")
    u_ = y1_
    eval find("sqrt", n(N), "max_weight", "mean")
    title_ = sprintf("At d_k %d the largest of %d weights is %.2g without the scale, %.2g with it", DMAX, n(N), u_, y1_)
}

array BARS[2]
do for [p = 1:2] {
    M = word(PANELS, p)
    BARS[p] = ""
    do for [s in PAIR] { do for [i = 1:N] {
        seen_ = 0
        stats ROWS using (wide(s, i, M) ? (seen_ = 1) : 1) nooutput
        if (seen_) { BARS[p] = BARS[p] . sprintf("ROWS using (wide('%s', %d, M) ? column('d_k') : NaN):(num('value')):(2 * num('standard_error')) \
            with yerrorbars lw 1 pt 0 ps 0 lc rgb '%s', ", s, i, shade(s, i)) }
    } }
}
facts_ = sprintf("means over %s n keys: points%s", DRAWN, strlen(BARS[1] . BARS[2]) ? ", bars 2 standard errors" : "")
if (strlen(PAIR_LINES)) { facts_ = facts_ . "; exact: lines" }
FREEZE = in(PAIR_LINES, "none") && (sum [i = 1:N] (2 * log(n(i)) > DMIN && 2 * log(n(i)) < DMAX))
if (FREEZE) { facts_ = facts_ . "; dotted: freezing line 2 ln n" }
if (N > 1) { facts_ = facts_ . "; darker: more keys" }

set output OUT
LEFT = 0.052; LABELS = 0.085; GAP = 0.05; LINE_HEIGHT = 0.047; OVER = 0.5
WIDE = (0.995 - LEFT - GAP) / 2 - LABELS
LEAD = 0.012
DK_ROOM = 0.03 + 0.022 * strlen(word(DKS, NDK))
set tmargin at screen 0.82 - SINK; set bmargin at screen 0.125
set multiplot
eval told(title_, facts_)
do for [p = 1:2] {
    M = word(PANELS, p)
    set lmargin at screen LEFT + (p - 1) * (WIDE + LABELS + GAP)
    set rmargin at screen LEFT + (p - 1) * (WIDE + LABELS + GAP) + WIDE
    set title SAYS[p] . ", mean over rows (no unit)" noenhanced offset 0, -0.4
    set xlabel "key width d_k (log scale)" noenhanced offset 0, 0.3
    set ytics 0.2 noenhanced
    # The numbers of keys: at the right ends of the last rule's lines, and on the first one's on their way,
    # unless these run too close together.
    do for [i = 1:N] {
        eval find(LAST, n(i), M, "mean")
        eval add_label(sprintf("n = %d", n(i)), ink(LAST, i), x1_, y1_ / 1.1)
        unset label 20 + i; unset arrow 60 + i
    }
    eval SPREAD
    apart_ = 0
    if (N > 1) {
        eval crossing(FIRST, n(1), M, 0.6)
        few_ = x_
        eval crossing(FIRST, n(2), M, 0.6)
        apart_ = few_ > 0 && x_ > 1.5 * few_
    }
    do for [i = 1:N] {
        h_ = 0.52 + 0.08 * i
        if (apart_ && FIRST ne LAST) {
            eval crossing(FIRST, n(i), M, h_)
            if (x_ > 0) { set label 20 + i sprintf("n = %d", n(i)) at first x_, first h_ center noenhanced boxed front textcolor rgb ink(FIRST, i) }
        }
        f_ = 2 * log(1.0 * n(i))
        y_ = 0
        if (FIRST eq "none") { eval on_line("none", n(i), M, f_) }
        if (y_ > 0) { set arrow 60 + i from first f_, first 0 to first f_, first y_ nohead lw 1.2 dt (2, 3) lc rgb shade("none", i) }
    }
    # The rules' names, above their lines' right ends as far as a name reaches.
    beside_ = 9
    do for [k = 1:words(PAIR)] {
        s = word(PAIR, k)
        top_ = 0
        do for [i = 1:N] {
            eval find(s, n(i), M, "mean")
            eval on_line(s, n(i), M, XHI / (XHI / XLO)**0.4)
            top_ = max(top_, max(y1_, y_))
        }
        if (abs(top_ - beside_) < 0.07) { top_ = top_ - 0.2 }
        beside_ = top_
        set label 30 + k pretty(s) at graph 0.985, first top_ + 0.055 right noenhanced textcolor rgb ink(s, 2)
    }
    eval RAW
    eval DK_AXIS
    # Put together as text, because a loop over nothing draws (and complains) once.
    eval 'plot [XLO:XHI] [0:1.1] ' . \
        (words(PAIR_LINES) == 0 ? '' : 'for [s in PAIR_LINES] for [i = 1:N] THEORY using (line_at(s, n(i)) ? column("d_k") : NaN):(num(M)) \
            with lines ls stroke(s) lc rgb shade(s, i), ') . \
        BARS[p] . \
        'for [s in PAIR] for [i = 1:N] ROWS using (at(s, n(i), M, "mean") ? column("d_k") : NaN):(num("value")) \
            with points lw 1 pt point_of(s, i) ps 0.7 lc rgb shade(s, i)'
    unset label 1; unset label 2; unset label 9
}
unset multiplot
unset output
