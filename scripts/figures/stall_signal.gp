# "The gradients vanish" depends on the norm, and the step in logits decides: before the first update,
# against d_k, the gradient of Wq in its Frobenius norm and per entry (of d_model d_k), the typical
# (median) row's gradient through the softmax, and how far the update moves the logits. A decade is as high in every panel.
#   gnuplot -c scripts/figures/stall_signal.gp results/stall_bands.csv stall_signal.png   (or .svg)
# Takes the _bands.csv of any `sqrtdk stall` and reads its rows of step 0.
NAME = "stall_signal"; CSV = ARG1; OUT = ARG2; KIND = "the _bands.csv of a stall run"
NEEDS = "d_k scale lr step seeds"
PANELS = "grad_wq grad_wq_rms row_grad_median logit_step"
do for [c in PANELS] { NEEDS = NEEDS . sprintf(" %s_median %s_q1 %s_q3", c, c, c) }
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "stall_common.gp"
array SAYS[4] = ["|dL/dWq|, Frobenius norm", "dL/dWq per entry, root mean square", \
    "typical (median) row's gradient", "step in logits, root mean square"]
# Two lines for each of many rules would be more than a panel is high.
short(s) = NS < 5 ? twoline(s) : s eq "none" ? "no scale" : s eq "sqrt" ? "1/" . ROOT : s

CAP = 1e-8
SEEDS = 0; RUN = ""
at0(s) = stringcolumn("scale") eq s && picked(0) && column("step") == 0
stats CSV using (picked(0) && column("step") == 0 ? (SEEDS = max(SEEDS, num("seeds")), RUN = with(RUN, stringcolumn("scale")), 1) : 1) nooutput

# The axis of each panel: its own values, over as many decades as the widest needs.
array LEAST[4]; array MOST[4]; array LOWEST[4]
WIDEST = 10; ANY = 0
do for [p = 1:4] {
    C = word(PANELS, p); LO = 1e299; HI = 0; LOW = 0
    stats CSV using (picked(0) && column("step") == 0 ? (look(num(C . "_median")), look(num(C . "_q1")), look(num(C . "_q3")), 1) : 1) nooutput
    if (HI == 0) { LO = 1; HI = 1 } else { ANY = 1 }
    eval FIT
    LEAST[p] = YLO; MOST[p] = YHI; LOWEST[p] = LOW
    WIDEST = max(WIDEST, YHI / YLO)
}
if (!ANY) { eval die("no row of step 0 with a gradient in " . plain(CSV)) }

# The value of column c_ at the greatest d_k (and, for the title, at the least).
ends(s, c) = sprintf("x0_ = 0; x1_ = 0; y0_ = 0; y1_ = 0; stats CSV using (at0('%s') ? (v_ = num('%s_median'), d_ = column('d_k'), \
    x0_ == 0 || d_ < x0_ ? (x0_ = d_, y0_ = v_) : 0, d_ >= x1_ ? (x1_ = d_, y1_ = v_) : 0, 1) : 1) nooutput", s, c)
title_ = "Gradients and step in logits before the first update, by key width"
fold(x) = sprintf(x < 100 ? "%.3g-fold" : x < 1e6 ? "%.0f-fold" : "%.1e-fold", x)
change(a, b) = b >= 1.2 * a ? "grows " . fold(b / a) : b > a / 1.2 ? "hardly changes" : b > 0 ? "falls " . fold(a / b) : "falls to 0"
if (in(SCALES, "none") && NDK > 1) {
    array DOES[4]; told = 1
    do for [p = 1:4] {
        eval ends("none", word(PANELS, p))
        told = told && y0_ > 0 && y0_ < HUGE && y1_ >= 0 && y1_ < HUGE
        DOES[p] = told ? change(y0_, y1_) : ""
    }
    if (told) {
        title_ = sprintf("Without the scale |dL/dWq| %s, per entry it %s; the step in logits %s", DOES[1], DOES[2], DOES[4])
    }
}

set output OUT
LEFT = 0.098; LABELS = 0.130; NUMBERS = 0.062; BETWEEN = 0.115
WIDE = (0.995 - LEFT - NUMBERS) / 2 - LABELS
HIGH = (0.835 - DOWN - 0.125 - BETWEEN) / 2
LINE_HEIGHT = 0.0335 / HIGH
LEAD = 0.008 / WIDE; OVER = 0.2
DK_ROOM = 0.03 + 0.025 * strlen(word(DKS, NDK))
XLO = NDK > 1 ? DMIN * 1.0 : DMIN / 2.0; XHI = NDK > 1 ? DMAX * 1.0001 : DMIN * 2.0
set multiplot
eval facts(title_, sprintf("step 0, d_k = %s, %s; a row = one query, through its softmax; %s", NDK > 1 ? sprintf("%d to %d", DMIN, DMAX) : word(DKS, 1), recipe_words, over_seeds(SEEDS)))
eval y_name(3, "norm or step at step 0 (no unit, log scale)", 0.125 + HIGH + BETWEEN / 2)
do for [p = 1:4] {
    C = word(PANELS, p)
    eval RAW
    # Half of the room that a panel does not need is left above, half below.
    YLO = LEAST[p]; YHI = MOST[p]; LOW = LOWEST[p]
    spare_ = sqrt(WIDEST / (YHI / YLO))
    YHI = YHI * spare_
    if (!LOW) { YLO = YLO / spare_ } else { YHI = YHI * spare_ }
    set lmargin at screen LEFT + (1 - p % 2) * (WIDE + LABELS + NUMBERS)
    set rmargin at screen LEFT + (1 - p % 2) * (WIDE + LABELS + NUMBERS) + WIDE
    set tmargin at screen 0.835 - DOWN - (p > 2) * (HIGH + BETWEEN)
    set bmargin at screen 0.835 - DOWN - (p > 2) * (HIGH + BETWEEN) - HIGH
    set title SAYS[p] noenhanced offset 0, -0.6
    if (p > 2) { set xlabel "key width d_k (log scale)" noenhanced offset 0, 0.3 }
    BARE = 0
    eval Y_TICKS
    do for [s in SCALES] {
        eval ends(s, C)
        if (x1_ > 0 && known(y1_) && y1_ < HUGE) { eval add_label(short(s), colour(s), x1_, gy(y1_)) }
    }
    eval SPREAD
    eval DK_AXIS
    set logscale y
    plot [XLO:XHI] [YLO:YHI] for [s in RUN] CSV using (at0(s) ? column("d_k") : NaN):(onlog(num(C . "_q1"))):(onlog(num(C . "_q3"))) \
            with filledcurves fc rgb colour(s), \
        for [s in RUN] CSV using (at0(s) ? column("d_k") : NaN):(onlog(num(C . "_median"))) with linespoints ls k_of(s) ps 1
    unset label 1; unset label 2; unset label 3; unset label 9
}
unset multiplot
unset output
