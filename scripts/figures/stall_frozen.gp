# Does a run that trains badly know where to look? The cosine of its score matrix with the teacher's,
# and its ratio after ONE scalar on its logits, the best, beside the ratio as trained.
#   gnuplot -c scripts/figures/stall_frozen.gp results/stall_bands.csv stall_frozen.png   (or .svg)
# Takes the _bands.csv of any `sqrtdk stall`; shows the greatest d_k, a column of panels a rule (three at most).
NAME = "stall_frozen"; CSV = ARG1; OUT = ARG2; KIND = "the _bands.csv of a stall run"
NEEDS = "d_k scale lr step seeds"
SERIES = "ratio ratio_rescaled cos_m"
do for [c in SERIES] { NEEDS = NEEDS . sprintf(" %s_median %s_q1 %s_q3", c, c, c) }
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "stall_common.gp"
DK = DMAX

eval runs_of(DK)
SHOWN = ""
do for [s in SCALES] { if (in(RUN, s) && words(SHOWN) < 3) { SHOWN = with(SHOWN, s) } }
N = words(SHOWN)
if (N == 0) { eval die(sprintf("no row of d_k %d in ", DK) . plain(CSV)) }
if (N < NS) { print NAME . ": note: shown are " . SHOWN . ", of the rules " . SCALES }

CAP = 1e-8
XMAX = 0; SEEDS = 0; CLO = 0
stats CSV using (in(SHOWN, stringcolumn("scale")) && row(stringcolumn("scale"), DK) ? (XMAX = max(XMAX, num("step")), SEEDS = max(SEEDS, num("seeds")), \
    sum [i = 1:2] (look(num(word(SERIES, i) . "_median")), look(num(word(SERIES, i) . "_q1")), look(num(word(SERIES, i) . "_q3")), 0), \
    known(num("cos_m_q1")) ? (CLO = min(CLO, num("cos_m_q1"))) : 0, 1) : 1) nooutput
STEPS = asked(XMAX + 1)
XMAX = max(XMAX, 1)
CLO = CLO < 0 ? min(-0.06, 1.1 * CLO) : 0
dummy = look(1.0)
eval FIT
YLO = min(YLO, 0.5)

# The last row of a rule: step, ratio, ratio after the best scalar, cosine.
end_of(s) = sprintf("stats CSV using (row('%s', DK) ? (x_ = num('step'), r_ = num('ratio_median'), b_ = num('ratio_rescaled_median'), c_ = num('cos_m_median'), 1) : 1) nooutput", s)
title_ = sprintf("d_k = %d: the loss as trained, and after one best scalar on the logits", DK)
if (in(SHOWN, "none")) {
    eval end_of("none")
    if (x_ == STEPS - 1 && known(b_)) {
        title_ = sprintf("Without the scale, d_k = %d: one scalar on the logits takes the ratio from %.2g to %.2g", DK, r_, b_)
    }
}

set output OUT
LEFT = 0.098; LABELS = 0.155; OVER = 0.2
WIDE = (0.995 - LEFT) / N - LABELS
LEAD = 0.008 / WIDE
set multiplot
eval facts(title_, sprintf("d_k = %d, %s, %s; ratio = loss / loss of not attending; %s", DK, recipe_words, plural(STEPS, "step"), over_seeds(SEEDS)))
eval y_name(3, "ratio (log scale)", 0.635 - 0.75 * DOWN)
eval y_name(4, "cosine (no unit)", 0.262 - DOWN / 4)
eval STEP_AXIS
do for [p = 1:N] {
    s = word(SHOWN, p)
    eval RAW
    eval end_of(s)
    lost_ = x_ < STEPS - 1 ? "\n(diverged)" : ""
    set lmargin at screen LEFT + (p - 1) * (WIDE + LABELS)
    set rmargin at screen LEFT + (p - 1) * (WIDE + LABELS) + WIDE
    BARE = (p > 1)

    # above: the ratio, as trained and rescaled
    set tmargin at screen 0.82 - DOWN; set bmargin at screen 0.45 - DOWN / 2
    LINE_HEIGHT = 0.083
    set title pretty(s) noenhanced offset 0, -0.4 textcolor rgb colour(s)
    set xlabel ""; set format x ""
    eval Y_TICKS
    eval add_label("not attending", GREY, XMAX, gy(1))
    eval add_label("as trained" . lost_, colour(s), x_, gy(r_))
    if (known(b_)) { eval add_label("after one best\nscalar on logits", "#000000", x_, gy(b_)) }
    eval SPREAD
    set logscale y
    plot [0:XMAX] [YLO:YHI] 1 with lines lw 1 dt (2, 3) lc rgb GREY, \
        CSV using (row(s, DK) && keep(num("step")) ? num("step") : NaN):(onlog(num("ratio_q1"))):(onlog(num("ratio_q3"))) with filledcurves fc rgb colour(s), \
        CSV using (row(s, DK) && keep(num("step")) ? num("step") : NaN):(onlog(num("ratio_rescaled_q1"))):(onlog(num("ratio_rescaled_q3"))) with filledcurves fc rgb "#000000", \
        CSV using (row(s, DK) && keep(num("step")) ? num("step") : NaN):(onlog(num("ratio_median"))) with linespoints ls k_of(s) pointinterval 20, \
        CSV using (row(s, DK) && keep(num("step")) ? num("step") : NaN):(onlog(num("ratio_rescaled_median"))) with linespoints lw 2 dt (2, 2) lc rgb "#000000" pt 6 ps 0.7 pointinterval 20
    unset label 1; unset label 2; unset label 3; unset label 4; unset label 9

    # below: what it has learned
    set tmargin at screen 0.40 - DOWN / 2; set bmargin at screen 0.125
    LINE_HEIGHT = 0.112
    unset title
    unset logscale
    set format x "%g"
    set ytics 0.5 noenhanced
    set format y (BARE ? "" : "%g")
    set xlabel "step" offset 0, 0.3
    if (known(c_)) {
        eval add_label("cosine with the\nteacher's scores", colour(s), x_, (c_ - CLO) / (1.05 - CLO))
        eval SPREAD
        plot [0:XMAX] [CLO:1.05] 0 with lines lw 1 dt (2, 3) lc rgb GREY, \
            CSV using (row(s, DK) && known(num("cos_m_q1")) && keep(num("step")) ? num("step") : NaN):(num("cos_m_q1")):(num("cos_m_q3")) with filledcurves fc rgb colour(s), \
            CSV using (row(s, DK) && known(num("cos_m_median")) && keep(num("step")) ? num("step") : NaN):(num("cos_m_median")) with linespoints ls k_of(s) pointinterval 20
    } else {
        eval SPREAD
        set label 101 "not defined\nfor this rule" at graph 0.5, graph 0.5 center noenhanced textcolor rgb GREY
        plot [0:XMAX] [CLO:1.05] 0 with lines lw 1 dt (2, 3) lc rgb GREY
    }
}
unset multiplot
unset output
