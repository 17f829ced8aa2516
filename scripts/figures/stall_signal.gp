# "The gradients vanish" depends on the norm, and the step in logits decides: before the first update,
# against d_k, the gradient of Wq in its Frobenius norm and per entry (of d_model d_k), the typical
# (median) row's gradient through the softmax, and how far the update moves the logits. A decade is as high in every panel.
#   scripts/draw stall_signal results/stall_bands.csv stall_signal.png   (or .svg)
# Takes the _bands.csv of any `sqrtdk stall` and reads its rows of step 0.
NAME = "stall_signal"; CSV = ARG1; OUT = ARG2; KIND = "the _bands.csv of a stall run"
NEEDS = "d_k scale lr step seeds"
PANELS = "grad_wq grad_wq_rms row_grad_median logit_step"
do for [c in PANELS] { NEEDS = NEEDS . sprintf(" %s_median %s_q1 %s_q3", c, c, c) }
MOST = 3; RATIO = "ratio_median"
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "stall_common.gp"
# The gradients are those of the first weights, whatever the rate; of the step there is a panel a rate.
N = 3 + NR
rate_of(p) = max(1, p - 3)
array SAYS[4] = ["Frobenius norm of dL/dWq", "per entry of dL/dWq, root mean square", \
    "median row's gradient through the softmax", "step in logits, root mean square"]
array BRIEF[4] = ["|dL/dWq|,\nFrobenius norm", "dL/dWq per entry,\nroot mean square", "median row, through\nthe softmax", "step in logits, rms,\n"]
says(p) = NR == 1 ? SAYS[p] : p < 4 ? BRIEF[p] : BRIEF[4] . spoken(p - 3)
what(p) = word(PANELS, int(min(p, 4)))

CAP = 1e-8
SEEDS = 0; RUN = ""
at0(s) = stringcolumn("scale") eq s && picked(0) && column("step") == 0
stats CSV using (picked(0) && column("step") == 0 ? (SEEDS = max(SEEDS, num("seeds")), RUN = with(RUN, stringcolumn("scale")), 1) : 1) nooutput

# The axis of each panel: its own values, over as many decades as the widest needs.
array LEAST[6]; array HIGHEST[6]; array LOWEST[6]
WIDEST = 10; ANY = 0
do for [p = 1:N] {
    eval of(rate_of(p))
    C = what(p); LO = 1e299; HI = 0; LOW = 0
    stats CSV using (picked(0) && column("step") == 0 ? (look(num(C . "_median")), look(num(C . "_q1")), look(num(C . "_q3")), 1) : 1) nooutput
    if (HI == 0) { LO = 1; HI = 1 } else { ANY = 1 }
    eval FIT
    LEAST[p] = YLO; HIGHEST[p] = YHI; LOWEST[p] = LOW
    WIDEST = max(WIDEST, YHI / YLO)
}
# One notation in all panels, each with half of its spare room above and below.
PLAIN = 1
do for [p = 1:N] { spare_ = sqrt(WIDEST / (HIGHEST[p] / LEAST[p])); PLAIN = PLAIN && LEAST[p] / spare_ >= 0.9e-3 && HIGHEST[p] * spare_ < 1e4 }
tick(e) = PLAIN ? sprintf("%g", 10.0**e) : sprintf("10^{%d}", e)
eval of(1)
if (!ANY) { eval die("no row of step 0 with a gradient in " . plain(CSV)) }

# The value of column c_ at the greatest d_k (and, for the title, at the least).
ends(s, c) = sprintf("x0_ = 0; x1_ = 0; y0_ = 0; y1_ = 0; stats CSV using (at0('%s') ? (v_ = num('%s_median'), d_ = column('d_k'), \
    x0_ == 0 || d_ < x0_ ? (x0_ = d_, y0_ = v_) : 0, d_ >= x1_ ? (x1_ = d_, y1_ = v_) : 0, 1) : 1) nooutput", s, c)
title_ = "Gradients and step in logits before the first update, by key width"
fold(x) = sprintf(x < 100 ? "%.3g-fold" : x < 1e6 ? "%.0f-fold" : "%.1e-fold", x)
change(a, b) = b >= 1.25 * a ? "grows " . fold(b / a) : b > a / 1.25 ? "hardly changes" : b > 0 ? "falls " . fold(a / b) : "falls to 0"
if (in(SCALES, "none") && NDK > 1) {
    array DOES[4]; told = 1
    do for [p = 1:4] {
        eval ends("none", word(PANELS, p))
        told = told && y0_ > 0 && y0_ < HUGE && y1_ >= 0 && y1_ < HUGE
        DOES[p] = told ? change(y0_, y1_) : ""
    }
    if (told) {
        title_ = sprintf("Without the scale |dL/dWq| %s, per entry it %s", DOES[1], DOES[2]) . (NR > 1 ? "" : "; the step in logits " . DOES[4])
    }
}

# The rows of step 0, rule by rule, with a blank line, which ends a curve, where a width did not run.
set print $START
print system(sprintf("awk -F, -v rules='%s' -v widths='%s' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; print; next } \
    $at[\"step\"] == 0 { k = $at[\"scale\"] \" \" $at[\"d_k\"]; rows[k] = rows[k] $0 \"\\n\" } \
    END { n = split(rules, r, \" \"); m = split(widths, w, \" \"); \
        for (i = 1; i <= n; i++) for (j = 1; j <= m; j++) { k = r[i] \" \" w[j]; printf \"%%s\", k in rows ? rows[k] : \"\\n\" } }' <'%s'", RUN, DKS, quoted(CSV)))
unset print

set output OUT
COLS = NR > 1 ? 3 : 2
LEFT = 0.098; LABELS = NR > 1 ? 0.105 : 0.138; NUMBERS = 0.058; FOOT = 0.115
HEAD = (NR > 1 ? 0.785 : 0.82) - DOWN; BETWEEN = NR > 1 ? 0.155 : 0.13
WIDE = (0.998 - LEFT - NUMBERS * (COLS - 1)) / COLS - LABELS
HIGH = (HEAD - FOOT - BETWEEN) / 2
LINE_HEIGHT = 0.0335 / HIGH
LEAD = 0.006 / WIDE; OVER = 0.2; MOST_TICKS = roomy(HIGH)
DK_ROOM = (0.01 + 0.009 * strlen(word(DKS, NDK))) / WIDE
XLO = NDK > 1 ? DMIN * 1.0 : DMIN / 2.0; XHI = NDK > 1 ? DMAX * 1.0001 : DMIN * 2.0
set multiplot
eval facts(title_, sprintf("before the first update; a row is one query; a decade is as high in all panels; %s", over_seeds(SEEDS)))
eval y_name(3, "norm or step at step 0 (log scale)", FOOT + HIGH + BETWEEN / 2)
# At a curve's end its rule and, where there is room, how far it went from the least d_k to the greatest.
brief(x) = sprintf(x < 9.95 ? "%.1f-fold" : x < 1e6 ? "%.0f-fold" : "%.1e-fold", x)
went(a, b) = NDK == 1 || NR > 1 || NS > 3 || !(a > 0) || b >= HUGE ? "" : b >= 1.25 * a ? "\nup " . brief(b / a) : b > a / 1.25 ? "\nhardly moves" : b > 0 ? "\ndown " . brief(a / b) : "\ndown to 0"
do for [p = 1:N] {
    C = what(p)
    eval of(rate_of(p))
    eval RAW
    # Half of the room that a panel does not need is left above, half below.
    YLO = LEAST[p]; YHI = HIGHEST[p]; LOW = LOWEST[p]
    spare_ = sqrt(WIDEST / (YHI / YLO))
    YHI = YHI * spare_
    if (!LOW) { YLO = YLO / spare_ } else { YHI = YHI * spare_ }
    col_ = (p - 1) % COLS; row_ = (p - 1) / COLS
    set lmargin at screen LEFT + col_ * (WIDE + LABELS + NUMBERS)
    set rmargin at screen LEFT + col_ * (WIDE + LABELS + NUMBERS) + WIDE
    set tmargin at screen HEAD - row_ * (HIGH + BETWEEN)
    set bmargin at screen HEAD - row_ * (HIGH + BETWEEN) - HIGH
    set title says(p) noenhanced offset 0, -0.2
    if (row_) { set xlabel (COLS < 3 ? "key width d_k (log scale)" : "d_k (log scale)") noenhanced offset 0, 0.3 }
    BARE = 0
    eval Y_TICKS
    do for [s in SCALES] {
        eval ends(s, C)
        if (x1_ > 0 && known(y1_) && y1_ < HUGE) { eval add_label((NS < 4 ? twoline(s) : short(s)) . went(y0_, y1_), colour(s), x1_, gy(y1_)) }
    }
    eval SPREAD
    eval DK_AXIS
    set logscale y
    plot [XLO:XHI] [YLO:YHI] for [s in RUN] $START using (at0(s) ? column("d_k") : NaN):(onlog(num(C . "_q1"))):(onlog(num(C . "_q3"))) \
            with filledcurves fc rgb colour(s), \
        for [s in RUN] $START using (at0(s) ? column("d_k") : NaN):(onlog(num(C . "_median"))) with linespoints ls k_of(s) ps 1
    unset label 1; unset label 2; unset label 3; unset label 9
}
unset multiplot
unset output
