# Does a run that trains badly know where to look? Its ratio as trained and after ONE scalar on its
# logits, the best; the entropy of its rows beside the teacher's, which is its sharpness; and the cosine of
# its score matrix with the teacher's, its direction.
#   scripts/draw stall_frozen results/stall_bands.csv stall_frozen.png   (or .svg)
# Takes the _bands.csv of any `sqrtdk stall`, and the teacher's entropy from the log beside it; shows the
# greatest d_k, a column of panels a rule, or of the first rule one a rate (three at most).
NAME = "stall_frozen"; CSV = ARG1; OUT = ARG2; KIND = "the _bands.csv of a stall run"
NEEDS = "d_k scale lr step seeds"
SERIES = "ratio ratio_rescaled entropy_mean cos_m"
do for [c in SERIES] { NEEDS = NEEDS . sprintf(" %s_median %s_q1 %s_q3", c, c, c) }
MOST = 3; RATIO = "ratio_median"
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "stall_common.gp"
DK = DMAX

eval runs_of(DK)
SHOWN = ""
do for [s in SCALES] { if (in(RUN, s) && words(SHOWN) < (NR > 1 ? 1 : 3)) { SHOWN = with(SHOWN, s) } }
if (words(SHOWN) == 0) { eval die(sprintf("no row of d_k %d in ", DK) . plain(CSV)) }
N = NR > 1 ? NR : words(SHOWN)
rule(p) = word(SHOWN, NR > 1 ? 1 : p)
column_of(p) = of(NR > 1 ? p : 1) . sprintf("; s = '%s'", rule(p))

CAP = 1e-8
XMAX = 0; SEEDS = 0; CLO = 0; EHI = 0
do for [p = 1:N] {
    eval column_of(p)
    stats CSV using (row(s, DK) ? (XMAX = max(XMAX, num("step")), SEEDS = max(SEEDS, num("seeds")), \
        sum [i = 1:2] (look(num(word(SERIES, i) . "_median")), look(num(word(SERIES, i) . "_q1")), look(num(word(SERIES, i) . "_q3")), 0), \
        EHI = max(EHI, num("entropy_mean_q3")), known(num("cos_m_q1")) ? (CLO = min(CLO, num("cos_m_q1"))) : 0, 1) : 1) nooutput
}
STEPS = asked(XMAX + 1)
XMAX = max(XMAX, 1)
CLO = CLO < 0 ? min(-0.06, 1.1 * CLO) : 0
dummy = look(1.0)
eval FIT
YLO = min(YLO, 0.5)
# The teacher's mean entropy at the last step of the log; negative where there is none.
TEACHER = system(sprintf("LC_ALL=C awk -F, -v d=%d 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } \
    NR > 1 && at[\"entropy_teacher\"] && $at[\"d_k\"] == d { if ($at[\"step\"] > last) { last = $at[\"step\"]; s = n = 0 } \
    if ($at[\"step\"] == last) { s += $at[\"entropy_teacher\"]; n++ } } END { print n ? s / n : -1 }' '%s.csv' 2>/dev/null || echo -1", DK, quoted(STEM))) + 0
EHI = 1.08 * max(max(EHI, TEACHER), 0.1)

# The last row of a column: step, ratio, ratio after the best scalar, cosine, entropy.
END_OF = "stats CSV using (row(s, DK) ? (x_ = num('step'), r_ = num('ratio_median'), b_ = num('ratio_rescaled_median'), c_ = num('cos_m_median'), e_ = num('entropy_mean_median'), 1) : 1) nooutput"
title_ = sprintf("d_k = %d: the loss as trained, and after one best scalar on the logits", DK)
if (in(SHOWN, "none") && NR == 1) {
    eval column_of(1)
    eval END_OF
    if (x_ == STEPS - 1 && known(b_)) {
        known_ = known(c_) && c_ >= 0.7 && known(e_) && TEACHER > 0 && abs(e_ - TEACHER) > TEACHER / 4 && b_ < r_ / 2
        title_ = known_ ? sprintf("Without the scale, d_k %d: direction learned to a cosine of %.2g, sharpness not: one scalar takes ratio %.2g to %.2g", DK, c_, r_, b_) : \
            sprintf("Without the scale, d_k = %d: one scalar on the logits takes the ratio from %.2g to %.2g", DK, r_, b_)
    }
}

set output OUT
UNDRAWN = less("", RUN, SHOWN)
eval also(over_seeds(SEEDS) . (strlen(UNDRAWN) ? "; " . UNDRAWN : ""))
LEFT = LOW ? 0.115 : 0.098; LABELS = 0.142; OVER = 0.2
WIDE = (0.995 - LEFT) / N - LABELS
LEAD = 0.006 / WIDE
# Three rows of panels, the first the highest.
HEAD = 0.825 - DOWN; FOOT = 0.115; BETWEEN = 0.028
HIGH = HEAD - FOOT - 2 * BETWEEN
array SHARE[3] = [0.44, 0.28, 0.28]
upper(k) = HEAD - (k > 1 ? SHARE[1] * HIGH + BETWEEN : 0) - (k > 2 ? SHARE[2] * HIGH + BETWEEN : 0)
vertical(k) = sprintf("set tmargin at screen %.9g; set bmargin at screen %.9g; LINE_HEIGHT = %.9g", upper(k), upper(k) - SHARE[k] * HIGH, 0.034 / (SHARE[k] * HIGH))
named(k, text) = y_name(2 + k, text, upper(k) - SHARE[k] * HIGH / 2)
set multiplot
eval facts(title_, sprintf("d_k = %d%s; ratio = loss / loss of not attending; best scalar: on all logits; numbers: last step", \
    DK, NR > 1 ? ", " . pretty(SHOWN) : ""))
eval named(1, "ratio (log scale)")
eval named(2, "entropy (nats)")
eval named(3, "cosine")
eval STEP_AXIS
at(p) = row(s, DK) && keep(num("step")) ? num("step") : NaN
do for [p = 1:N] {
    eval column_of(p)
    eval RAW
    eval END_OF
    lost_ = x_ < STEPS - 1 ? "\n(diverged)" : ""
    set lmargin at screen LEFT + (p - 1) * (WIDE + LABELS)
    set rmargin at screen LEFT + (p - 1) * (WIDE + LABELS) + WIDE
    BARE = (p > 1)

    # The ratio, as trained and rescaled.
    eval vertical(1)
    set title (NR > 1 ? RECIPE : pretty(s)) noenhanced offset 0, -0.5 textcolor rgb (NR > 1 ? "#000000" : colour(s))
    set xlabel ""; set format x ""
    eval Y_TICKS
    if (p == 1) { eval add_label("not attending", GREY, XMAX, gy(1)) }
    eval add_label("as trained" . (strlen(lost_) ? lost_ : sprintf(":\n%.2g", r_)), colour(s), x_, gy(r_))
    if (known(b_)) { eval add_label(sprintf("best scalar:\n%.2g", b_), "#000000", x_, gy(b_)) }
    eval SPREAD
    set logscale y
    plot [0:XMAX] [YLO:YHI] 1 with lines lw 1 dt (2, 3) lc rgb GREY, \
        CSV using (at(p)):(onlog(num("ratio_q1"))):(onlog(num("ratio_q3"))) with filledcurves fc rgb colour(s), \
        CSV using (at(p)):(onlog(num("ratio_rescaled_q1"))):(onlog(num("ratio_rescaled_q3"))) with filledcurves fc rgb "#000000", \
        CSV using (at(p)):(onlog(num("ratio_median"))) with linespoints ls k_of(s) pointinterval 20, \
        CSV using (at(p)):(onlog(num("ratio_rescaled_median"))) with linespoints lw 2 dt (2, 2) lc rgb "#000000" pt 6 ps 0.7 pointinterval 20
    unset for [k = 1:9] label k

    # Sharpness.
    eval vertical(2)
    unset title
    unset logscale
    set ytics 1 noenhanced
    set format y (BARE ? "" : "%g")
    if (p == 1 && TEACHER >= 0) { eval add_label(sprintf("teacher: %.2g", TEACHER), GREY, XMAX, TEACHER / EHI) }
    if (known(e_)) { eval add_label(sprintf("rows' mean:\n%.2g", e_), colour(s), x_, e_ / EHI) }
    eval SPREAD
    plot [0:XMAX] [0:EHI] TEACHER >= 0 ? TEACHER : NaN with lines lw 1 dt (2, 3) lc rgb GREY, \
        CSV using (known(num("entropy_mean_q1")) ? at(p) : NaN):(num("entropy_mean_q1")):(num("entropy_mean_q3")) with filledcurves fc rgb colour(s), \
        CSV using (known(num("entropy_mean_median")) ? at(p) : NaN):(num("entropy_mean_median")) with linespoints ls k_of(s) pointinterval 20

    # Direction.
    eval vertical(3)
    set format x "%g"
    set ytics 0.5 noenhanced
    set xlabel "step" offset 0, 0.4
    if (known(c_)) {
        eval add_label(sprintf("cosine with\nteacher: %.2f", c_), colour(s), x_, (c_ - CLO) / (1.05 - CLO))
        eval SPREAD
        plot [0:XMAX] [CLO:1.05] 0 with lines lw 1 dt (2, 3) lc rgb GREY, \
            CSV using (known(num("cos_m_q1")) ? at(p) : NaN):(num("cos_m_q1")):(num("cos_m_q3")) with filledcurves fc rgb colour(s), \
            CSV using (known(num("cos_m_median")) ? at(p) : NaN):(num("cos_m_median")) with linespoints ls k_of(s) pointinterval 20
    } else {
        eval SPREAD
        set label 101 "not defined\nfor this rule" at graph 0.5, graph 0.5 center noenhanced textcolor rgb GREY
        plot [0:XMAX] [CLO:1.05] 0 with lines lw 1 dt (2, 3) lc rgb GREY
    }
}
unset multiplot
unset output
