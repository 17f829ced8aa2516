# Which runs train, and which do not? The final loss of every run, as a share of the loss of a model
# that does not attend, against d_k: a dot a seed, the medians joined, bands by the ratio. A run that
# had too few steps to tell (verdict early) is an open dot. A panel for each rate.
#   scripts/draw stall_verdict results/stall_runs.csv stall_verdict.png   (or .svg)
# Takes the _runs.csv of any `sqrtdk stall` (one row a run, with the verdict's own ratio; inf where the run diverged).
NAME = "stall_verdict"; CSV = ARG1; OUT = ARG2; KIND = "the _runs.csv of a stall run"
NEEDS = "seed d_k scale lr steps ratio verdict"
MOST = 6; RATIO = "ratio"
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "stall_common.gp"

CAP = 1e-8
early(x) = stringcolumn("verdict") eq "early"
SEEDS = ""; STEPS = 0; LOST = 0; EARLY = 0
do for [r = 1:NR] {
    eval of(r)
    stats CSV using (picked(0) ? (SEEDS = with(SEEDS, stringcolumn("seed")), STEPS = max(STEPS, num("steps")), \
        look(num("ratio")), num("ratio") >= HUGE ? (LOST = 1) : 0, early(0) ? (EARLY = 1) : 0, 1) : 1) nooutput
}
dummy = look(9.0) + look(0.01)      # room for the three bands, whatever the runs did
eval FIT
# Runs that diverged have no ratio: they are drawn on a line of their own above the rest.
CEIL = YHI * (YHI / YLO)**0.10
TOP = LOST ? CEIL * (CEIL / YHI)**0.6 : YHI
drawn(v) = !known(v) ? NaN : v >= HUGE / 4 ? CEIL : max(v, YLO)

# Group medians (the median of infinities is one), and where a rule trains, for the title: a group
# does if half of its runs or more did, is early if it does not and one of its runs is. A blank line, where
# a width did not run, ends the line that joins them.
array WHERE[NS]; array ENDX[NS]; array ENDY[NS]; array EVERYWHERE[NS]; array UNTOLD[NS]
do for [i = 1:NS] { EVERYWHERE[i] = 0; UNTOLD[i] = 0; ENDX[i] = 0 }
set print $MEDIANS
print "panel,rule,d_k,ratio"
do for [r = 1:NR] {
    eval of(r)
    do for [i = 1:NS] {
        ran_ = 0; trained_ = 0; early_ = 0; upto_ = 0
        do for [d in DKS] {
            found_ = 0; good_ = 0; short_ = 0
            stats CSV using (row(word(SCALES, i), d + 0) && known(num("ratio")) ? \
                (found_ = found_ + 1, stringcolumn("verdict") eq "trained" ? (good_ = good_ + 1) : 0, early(0) ? (short_ = 1) : 0, 1) : 1) nooutput
            if (found_ > 0) {
                stats CSV using (row(word(SCALES, i), d + 0) && known(num("ratio")) ? num("ratio") : NaN) nooutput
                print sprintf("%d,%d,%s,%.9g", r, i, d, STATS_median)
                ran_ = ran_ + 1; ENDX[i] = d + 0; ENDY[i] = drawn(STATS_median)
                if (2 * good_ >= found_) { trained_ = trained_ + 1; if (trained_ == ran_) { upto_ = d + 0 } } else { early_ = early_ + short_ }
            } else {
                print ""
            }
        }
        EVERYWHERE[i] = EVERYWHERE[i] + (ran_ && trained_ == ran_)
        UNTOLD[i] = UNTOLD[i] + (ran_ && early_ && trained_ + early_ == ran_)
        at_ = NDK == 1 ? "at d_k = " . DKS : "at every d_k"
        WHERE[i] = ran_ == 0 ? "did not run" : trained_ == ran_ ? "trains " . at_ : early_ == ran_ ? "is too early to tell" : \
            early_ ? sprintf("trains at %d of %d widths (%d early)", trained_, ran_, early_) : \
            trained_ == 0 ? (NDK == 1 ? "does not train " . at_ : "trains at no d_k") : \
            upto_ > 0 && int(word(DKS, trained_)) == upto_ ? sprintf("trains only %s d_k = %d", trained_ > 1 ? "up to" : "at", upto_) : sprintf("trains at %d of %d widths", trained_, ran_)
    }
}
unset print
title_ = sprintf("Which runs train within %s, rule by rule", plural(STEPS, "step"))
if (PAIR && NR == 1) {
    title_ = sprintf("Within %s attention %s with 1/%s%s", plural(STEPS, "step"), WHERE[2], ROOT, WHERE[1] eq WHERE[2] ? " and without" : \
        ", " . (WHERE[1][1:7] eq "trains " && WHERE[2][1:7] eq "trains " ? WHERE[1][8:*] : WHERE[1]) . " without the scale")
}
if (PAIR && NR > 1) {
    untold(n) = n ? sprintf(" (%d too early to tell)", n) : ""
    title_ = sprintf("Of %d %s %d train%s %s within %s with 1/%s%s, %d without%s", NR, PLAIN_SGD ? "rates" : "optimizers and rates", EVERYWHERE[2], EVERYWHERE[2] == 1 ? "s" : "", \
        NDK > 1 ? "every d_k" : "d_k " . DKS, plural(STEPS, "step"), ROOT, untold(UNTOLD[2]), EVERYWHERE[1], untold(UNTOLD[1]))
}

set output OUT
COLS = NR == 4 ? 2 : int(min(NR, 3)); ROWS = (NR - 1) / COLS + 1
LEFT = LOW ? 0.115 : 0.098; LABELS = 0.150; GAP = 0.012; BETWEEN = 0.075; TOP_ = (NR > 1 ? 0.825 : 0.86) - DOWN; FOOT = 0.125
WIDE = (0.995 - LEFT - LABELS - GAP * (COLS - 1)) / COLS
HIGH = (TOP_ - FOOT - BETWEEN * (ROWS - 1)) / ROWS
LINE_HEIGHT = 0.036 / HIGH; LEAD = 0.006 / WIDE; MOST_TICKS = roomy(HIGH)
SPAN = NDK > 1 ? DMAX * 1.0 / DMIN : 4.0
ROOM = SPAN**0.05                   # the rules stand side by side at each d_k
XLO = DMIN / ROOM / (NDK > 1 ? 1.03 : 2.0); XHI = DMAX * ROOM * (NDK > 1 ? 1.03 : 2.0)
DK_ROOM = (0.02 + 0.014 * strlen(word(DKS, NDK))) * 0.75 / WIDE
shift(i) = ROOM**(NS > 1 ? ((i - 1.0) / (NS - 1) - 0.5) * min(1, max(0.3, 0.15 * NS)) * min(1, 8.0 / NDK) * 1.7 : 0)
set multiplot
eval facts(title_, sprintf("a dot is a run: its median ratio over the last 20 steps%s%s", words(SEEDS) > 1 ? sprintf("; medians over %d seeds joined", words(SEEDS)) : "", EARLY ? "; open: early, too few steps to tell" : ""))
eval y_name(3, NR > 3 ? "loss / loss of not attending (log scale)" : "final loss / loss of not attending (ratio, log scale)", (TOP_ + FOOT) / 2)
band(n, lo, hi, rgb) = sprintf("set object %d rectangle from graph 0, first %.9g to graph 1, first %.9g behind fillcolor rgb '%s' fillstyle solid 1 noborder", n, lo, hi, rgb)
eval band(1, YLO, 0.1, "#E3EFE6")
eval band(2, 0.1, 1, "#FAFAFA")
eval band(3, 1, YHI, "#F0D6C9")
UPTO = YHI
column_(i) = (s_ = word(SCALES, i), stringcolumn("scale") eq s_ && picked(0) ? column("d_k") * shift(i) : NaN)
# Open and full dots of a rule; the last two rules have open ones elsewhere.
FULL = "9 7 5 13 11 15 5 7"
dot(i) = (n_ = int(word(FULL, k_of(word(SCALES, i)))), early(0) ? n_ - 1 : n_)
do for [r = 1:NR] {
    eval of(r)
    col_ = (r - 1) % COLS; row_ = (r - 1) / COLS
    set lmargin at screen LEFT + col_ * (WIDE + GAP); set rmargin at screen LEFT + col_ * (WIDE + GAP) + WIDE
    set tmargin at screen TOP_ - row_ * (HIGH + BETWEEN); set bmargin at screen TOP_ - row_ * (HIGH + BETWEEN) - HIGH
    if (NR > 1) { set title RECIPE noenhanced offset 0, -0.6 }
    DK_BARE = r + COLS <= NR
    eval DK_AXIS
    if (!DK_BARE) { set xlabel (COLS < 3 ? "key width d_k (log scale)" : "d_k (log scale)") noenhanced offset 0, 0.3 }
    BARE = (col_ > 0)
    YHI = UPTO
    eval Y_TICKS
    YHI = TOP                       # the labels' heights are of the whole graph
    # The bands' names and the curves' stand once, beside the last panel of a row: of the first, of the last.
    if (r == COLS) {
        eval add_label("no better than\nnot attending", GREY, XHI, gy(sqrt(UPTO)))
        eval add_label("better,\nnot trained", GREY, XHI, gy(sqrt(0.1)))
        eval add_label("trained\n(up to 0.1)", GREY, XHI, gy(0.1) - 1.3 * LINE_HEIGHT)
        if (LOST) { eval add_label("diverged", GREY, XHI, gy(CEIL)) }
    }
    if (r == NR) {
        do for [i = 1:NS] { if (ENDX[i] > 0) { eval add_label(NS < 5 ? twoline(word(SCALES, i)) : short(word(SCALES, i)), colour(word(SCALES, i)), ENDX[i] * shift(i), gy(ENDY[i])) } }
    }
    eval SPREAD
    set logscale y
    plot [XLO:XHI] [YLO:TOP] 0.1 with lines lw 1 dt (2, 3) lc rgb GREY, 1 with lines lw 1 dt (2, 3) lc rgb GREY, \
        for [i = 1:NS] CSV using (column_(i)):(drawn(num("ratio"))):(dot(i)) with points pt variable lc rgb colour(word(SCALES, i)) lw 1.5 ps (NR > 1 ? 0.7 : 0.9), \
        for [i = 1:NS] $MEDIANS using (column("panel") == r && column("rule") == i ? column("d_k") * shift(i) : NaN):(drawn(column("ratio"))) with lines ls k_of(word(SCALES, i))
    unset label 1; unset label 2; unset label 3; unset label 9
}
unset multiplot
unset output
