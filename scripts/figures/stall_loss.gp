# Does attention learn without the scale? Its loss, as a share of the loss of a model that does not
# attend at all, against the step: a panel for a small, a middle and a large d_k, a curve a rule; a row of
# panels for each rate.
#   scripts/draw stall_loss results/stall_bands.csv stall_loss.png   (or .svg)
# Takes the _bands.csv of any `sqrtdk stall`; shows the least d_k, the one nearest 64 and the greatest.
NAME = "stall_loss"; CSV = ARG1; OUT = ARG2; KIND = "the _bands.csv of a stall run"
NEEDS = "d_k scale lr step seeds ratio_median ratio_q1 ratio_q3"
MOST = 3; RATIO = "ratio_median"
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "stall_common.gp"

SHOWN = word(DKS, 1)
if (NDK > 2) {
    mid = word(DKS, 2)
    do for [i = 2:NDK - 1] { if (abs(log(word(DKS, i) / 64.0)) < abs(log(mid / 64.0))) { mid = word(DKS, i) } }
    SHOWN = SHOWN . " " . mid
}
SHOWN = with(SHOWN, word(DKS, NDK))
N = words(SHOWN)

# One pass for the axes; the end of each curve, and its level over the last 20 steps for the title.
CAP = 1e-8
XMAX = 0; SEEDS = 0
do for [r = 1:NR] {
    eval of(r)
    stats CSV using (picked(0) && in(SHOWN, stringcolumn("d_k")) ? (XMAX = max(XMAX, num("step")), \
        SEEDS = max(SEEDS, num("seeds")), look(num("ratio_median")), look(num("ratio_q1")), look(num("ratio_q3")), 1) : 1) nooutput
}
eval of(1)
STEPS = asked(XMAX + 1)
XMAX = max(XMAX, 1)
dummy = look(1.0)
eval FIT
YLO = min(YLO, 0.5)

end_of(word_) = sprintf("x_ = -1; y_ = 0; stats CSV using (row('%s', DK) ? (x_ = num('step'), y_ = num('ratio_median'), 1) : 1) nooutput", word_)
# (What a ratio says, and no verdict: those are of runs, and know of runs too short to tell.)
state(x, r) = x < STEPS - 1 ? "diverges" : r >= 1 ? "ends above not attending" : r > 0.1 ? sprintf("ends at ratio %.2g", r) : "trains"
title_ = sprintf("The loss within %s, rule by rule", plural(STEPS, "step"))
if (PAIR && NR == 1) {
    DK = DMAX
    array SAID[2]
    do for [i = 1:2] {
        eval end_of(word(SCALES, i))
        r_ = y_
        if (x_ == STEPS - 1) {
            stats CSV using (row(word(SCALES, i), DK) && num("step") > STEPS - 21 ? num("ratio_median") : NaN) nooutput
            r_ = STATS_median
        }
        SAID[i] = state(x_, r_)
    }
    title_ = sprintf("d_k = %d within %s: ", DMAX, plural(STEPS, "step")) . (SAID[1] eq SAID[2] ? \
        sprintf("attention %s, with 1/%s and without", SAID[1], ROOT) : \
        sprintf("with 1/%s attention %s, without the scale it %s", ROOT, SAID[2], SAID[1]))
}

set output OUT
eval also(less("d_k ", DKS, SHOWN))
LEFT = LOW ? 0.115 : 0.098; LABELS = 0.105; HEAD = 0.83 - DOWN; FOOT = 0.115; BETWEEN = NR > 1 ? 0.055 : 0
WIDE = (0.995 - LEFT) / N - LABELS
HIGH = (HEAD - FOOT - BETWEEN * (NR - 1)) / NR
LINE_HEIGHT = 0.036 / HIGH; OVER = NR > 1 ? 0.4 : 1; MOST_TICKS = roomy(HIGH)
LEAD = 0.006 / WIDE
set multiplot
eval facts(title_, over_seeds(SEEDS))
eval y_name(3, NR > 2 ? "loss / loss of not attending (log scale)" : "loss / loss of not attending (ratio, log scale)", (HEAD + FOOT) / 2)
eval STEP_AXIS
do for [r = 1:NR] { do for [p = 1:N] {
    DK = word(SHOWN, p) + 0
    eval of(r)
    eval RAW
    eval runs_of(DK)
    set lmargin at screen LEFT + (p - 1) * (WIDE + LABELS)
    set rmargin at screen LEFT + (p - 1) * (WIDE + LABELS) + WIDE
    set tmargin at screen HEAD - (r - 1) * (HIGH + BETWEEN)
    set bmargin at screen HEAD - (r - 1) * (HIGH + BETWEEN) - HIGH
    set title (NR > 1 ? RECIPE . ", " : "") . sprintf("d_k = %d", DK) noenhanced offset 0, -0.6
    set format x (r < NR ? "" : "%g")
    if (r == NR) { set xlabel "step" offset 0, 0.3 }
    BARE = (p > 1)
    eval Y_TICKS
    if (p == 1 && r == 1) { eval add_label("not\nattending", GREY, XMAX, gy(1)) }
    do for [s in RUN] {
        eval end_of(s)
        eval add_label((NR < 3 && NS < 5 ? twoline(s) : short(s)) . (x_ < STEPS - 1 ? "\n(diverged)" : ""), colour(s), x_, gy(y_))
    }
    eval SPREAD
    set logscale y
    plot [0:XMAX] [YLO:YHI] 1 with lines lw 1 dt (2, 3) lc rgb GREY, \
        for [s in RUN] CSV using (row(s, DK) && keep(num("step")) ? num("step") : NaN):(onlog(num("ratio_q1"))):(onlog(num("ratio_q3"))) \
            with filledcurves fc rgb colour(s), \
        for [s in RUN] CSV using (row(s, DK) && keep(num("step")) ? num("step") : NaN):(onlog(num("ratio_median"))) \
            with linespoints ls k_of(s) pointinterval 25
    unset label 1; unset label 2; unset label 3; unset label 9
} }
unset multiplot
unset output
