# "The gradients vanish" is half true: before the first step, without the scale, the gradient of the
# weights GROWS with d_k while the signal of the typical (median) row dies. The mean over rows hides
# it, because a few rows near a tie carry all there is.
#   gnuplot -c scripts/figures/stall_signal.gp results/stall_bands.csv stall_signal.png   (or .svg)
# Takes the _bands.csv of any `sqrtdk stall` and reads its rows of step 0.
NAME = "stall_signal"; CSV = ARG1; OUT = ARG2; KIND = "the _bands.csv of a stall run"
NEEDS = "d_k scale lr step seeds"
PANELS = "grad_wq row_grad_mean row_grad_median"
do for [c in PANELS] { NEEDS = NEEDS . sprintf(" %s_median %s_q1 %s_q3", c, c, c) }
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "stall_common.gp"
array SAYS[3] = ["gradient of the weights:\n|dL/dWq|", "signal through the softmax:\nmean row's gradient", \
    "signal through the softmax:\ntypical (median) row's gradient"]

CAP = 1e-8
SEEDS = 0; RUN = ""
at0(s) = stringcolumn("scale") eq s && picked(0) && column("step") == 0
stats CSV using (picked(0) && column("step") == 0 ? (SEEDS = max(SEEDS, num("seeds")), RUN = with(RUN, stringcolumn("scale")), \
    sum [i = 1:3] (look(num(word(PANELS, i) . "_median")), look(num(word(PANELS, i) . "_q1")), look(num(word(PANELS, i) . "_q3")), 0), 1) : 1) nooutput
if (HI == 0) { eval die("no row of step 0 with a gradient in " . plain(CSV)) }
eval FIT

# The value of column c_ at the greatest d_k (and, for the title, at the least).
ends(s, c) = sprintf("x0_ = 0; x1_ = 0; y0_ = 0; y1_ = 0; stats CSV using (at0('%s') ? (v_ = num('%s_median'), d_ = column('d_k'), \
    x0_ == 0 || d_ < x0_ ? (x0_ = d_, y0_ = v_) : 0, d_ >= x1_ ? (x1_ = d_, y1_ = v_) : 0, 1) : 1) nooutput", s, c)
title_ = "The gradients before the first step, by key width"
fold(x) = sprintf(x < 100 ? "%.3g-fold" : "%.0f-fold", x)
change(a, b) = b >= 1.2 * a ? "grows " . fold(b / a) : b > a / 1.2 ? "hardly changes" : \
    b > 0 && a / b < 10000 ? "falls " . fold(a / b) : "all but vanishes"
if (in(SCALES, "none") && NDK > 1) {
    eval ends("none", "grad_wq")
    w_ = change(y0_, y1_)
    eval ends("none", "row_grad_median")
    r_ = change(y0_, y1_)
    title_ = sprintf("Without the scale |dL/dWq| %s %s the typical row's signal %s", w_, w_[1:5] eq r_[1:5] ? "and" : "while", r_)
}

set output OUT
LEFT = 0.098; LABELS = 0.135; LINE_HEIGHT = 0.054
WIDE = (0.995 - LEFT) / 3 - LABELS
LEAD = 0.008 / WIDE
DK_ROOM = 0.05 + 0.055 * strlen(word(DKS, NDK))
XLO = NDK > 1 ? DMIN * 1.0 : DMIN / 2.0; XHI = NDK > 1 ? DMAX * 1.0001 : DMIN * 2.0
set tmargin at screen 0.775; set bmargin at screen 0.125
set multiplot
eval heading(title_, sprintf("step 0, before any update; d_k = %s; a row = one query's softmax; %s", NDK > 1 ? sprintf("%d to %d", DMIN, DMAX) : word(DKS, 1), over_seeds(SEEDS)))
eval y_name(3, "gradient norm at step 0 (no unit, log scale)", 0.47)
do for [p = 1:3] {
    C = word(PANELS, p)
    eval RAW
    set lmargin at screen LEFT + (p - 1) * (WIDE + LABELS)
    set rmargin at screen LEFT + (p - 1) * (WIDE + LABELS) + WIDE
    set title SAYS[p] noenhanced offset 0, -0.4
    set xlabel "key width d_k (log scale)" noenhanced offset 0, 0.3
    BARE = (p > 1)
    eval Y_TICKS
    do for [s in SCALES] {
        eval ends(s, C)
        if (x1_ > 0) { eval add_label(twoline(s), colour(s), x1_, gy(y1_)) }
    }
    eval SPREAD
    eval DK_AXIS
    set logscale y
    plot [XLO:XHI] [YLO:YHI] for [s in RUN] CSV using (at0(s) ? column("d_k") : NaN):(onlog(num(C . "_q1"))):(onlog(num(C . "_q3"))) \
            with filledcurves fc rgb colour(s), \
        for [s in RUN] CSV using (at0(s) ? column("d_k") : NaN):(onlog(num(C . "_median"))) with linespoints ls k_of(s) ps 1
    unset label 1; unset label 2; unset label 3
}
unset multiplot
unset output
