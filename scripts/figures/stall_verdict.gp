# Which runs train, and which do not? The final loss of every run, as a share of the loss of a model
# that does not attend, against d_k: a dot a seed, the medians joined, bands by the ratio. A run that
# had too few steps to tell (verdict early) is an open dot.
#   gnuplot -c scripts/figures/stall_verdict.gp results/stall_runs.csv stall_verdict.png   (or .svg)
# Takes the _runs.csv of any `sqrtdk stall` (one row a run, with the verdict's own ratio; inf where the run diverged).
NAME = "stall_verdict"; CSV = ARG1; OUT = ARG2; KIND = "the _runs.csv of a stall run"
NEEDS = "seed d_k scale lr steps ratio verdict"
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "stall_common.gp"

CAP = 1e-8
early(x) = stringcolumn("verdict") eq "early"
SEEDS = ""; STEPS = 0; LOST = 0; EARLY = 0
stats CSV using (picked(0) ? (SEEDS = with(SEEDS, stringcolumn("seed")), STEPS = max(STEPS, num("steps")), \
    look(num("ratio")), num("ratio") >= HUGE ? (LOST = 1) : 0, early(0) ? (EARLY = 1) : 0, 1) : 1) nooutput
dummy = look(9.0) + look(0.01)      # room for the three bands, whatever the runs did
eval FIT
# Runs that diverged have no ratio: they are drawn on a line of their own above the rest.
CEIL = YHI * (YHI / YLO)**0.10
TOP = LOST ? CEIL * (CEIL / YHI)**0.6 : YHI
drawn(v) = !known(v) ? NaN : v >= HUGE / 4 ? CEIL : max(v, YLO)

# Group medians (the median of infinities is one), and where a rule trains, for the title: a group
# does if half of its runs or more did, is early if it does not and one of its runs is.
array WHERE[NS]; array ENDX[NS]; array ENDY[NS]
set print $MEDIANS
print "rule,d_k,ratio"
do for [i = 1:NS] {
    ran_ = 0; trained_ = 0; early_ = 0; upto_ = 0
    do for [d in DKS] {
        found_ = 0; good_ = 0; short_ = 0
        stats CSV using (row(word(SCALES, i), d + 0) && known(num("ratio")) ? \
            (found_ = found_ + 1, stringcolumn("verdict") eq "trained" ? (good_ = good_ + 1) : 0, early(0) ? (short_ = 1) : 0, 1) : 1) nooutput
        if (found_ > 0) {
            stats CSV using (row(word(SCALES, i), d + 0) && known(num("ratio")) ? num("ratio") : NaN) nooutput
            print sprintf("%d,%s,%.9g", i, d, STATS_median)
            ran_ = ran_ + 1; ENDX[i] = d + 0; ENDY[i] = drawn(STATS_median)
            if (2 * good_ >= found_) { trained_ = trained_ + 1; if (trained_ == ran_) { upto_ = d + 0 } } else { early_ = early_ + short_ }
        }
    }
    at_ = NDK == 1 ? "at d_k = " . DKS : "at every d_k"
    WHERE[i] = ran_ == 0 ? "did not run" : trained_ == ran_ ? "trains " . at_ : early_ == ran_ ? "is too early to tell" : \
        early_ ? sprintf("trains at %d of %d widths (%d early)", trained_, ran_, early_) : \
        trained_ == 0 ? (NDK == 1 ? "does not train " . at_ : "trains at no d_k") : \
        upto_ > 0 && int(word(DKS, trained_)) == upto_ ? sprintf("trains only up to d_k = %d", upto_) : sprintf("trains at %d of %d widths", trained_, ran_)
}
unset print
title_ = sprintf("Which runs train within %s, rule by rule", plural(STEPS, "step"))
if (PAIR) {
    title_ = sprintf("Within %s attention %s with 1/%s%s", plural(STEPS, "step"), WHERE[2], ROOT, WHERE[1] eq WHERE[2] ? " and without" : \
        ", " . (WHERE[1][1:7] eq "trains " && WHERE[2][1:7] eq "trains " ? WHERE[1][8:*] : WHERE[1]) . " without the scale")
}

set output OUT
LINE_HEIGHT = 0.050; LEAD = 0.008
SPAN = NDK > 1 ? DMAX * 1.0 / DMIN : 4.0
ROOM = SPAN**0.05                   # the rules stand side by side at each d_k
XLO = DMIN / SPAN**(NS > 4 ? 0.38 : 0.31) / (NDK > 1 ? 1 : 2.0); XHI = DMAX * ROOM * (NDK > 1 ? 1.03 : 2.0)
DK_ROOM = 0.02 + 0.014 * strlen(word(DKS, NDK))
shift(i) = ROOM**(NS > 1 ? ((i - 1.0) / (NS - 1) - 0.5) * min(1, max(0.3, 0.15 * NS)) * min(1, 8.0 / NDK) * 1.7 : 0)
eval DK_AXIS
BARE = 0
eval Y_TICKS
set lmargin at screen 0.098; set rmargin at screen 0.855; set tmargin at screen 0.86 - DOWN; set bmargin at screen 0.125
eval facts(title_, sprintf("%s, %s; a dot a run (%s%s), medians joined", recipe_words, plural(STEPS, "step"), plural(words(SEEDS), "seed"), EARLY ? "; open = early: too few steps to tell" : ""))
set xlabel "key width d_k (log scale)" noenhanced offset 0, 0.3
eval y_name(3, "final loss / loss of not attending (ratio, log scale)", 0.4925 - DOWN / 2)
band(n, lo, hi, rgb) = sprintf("set object %d rectangle from graph 0, first %.9g to graph 1, first %.9g behind fillcolor rgb '%s' fillstyle solid 1 noborder", n, lo, hi, rgb)
eval band(1, YLO, 0.1, "#EAF3EC")
eval band(2, 0.1, 1, "#F7F7F7")
eval band(3, 1, YHI, "#F3DDD3")
set label 11 "no better than\nnot attending" at graph 0.012, first sqrt(YHI) left textcolor rgb GREY
set label 12 "better,\nnot trained" at graph 0.012, first sqrt(0.1) left textcolor rgb GREY
set label 13 "trained (<= 0.1)" at graph 0.012, first 0.1 left offset 0, -0.9 textcolor rgb GREY
if (LOST) { set label 14 "diverged" at graph 0.012, first CEIL left textcolor rgb GREY }
YHI = TOP                           # the labels' heights are of the whole graph
do for [i = 1:NS] { eval add_label(twoline(word(SCALES, i)), colour(word(SCALES, i)), ENDX[i] * shift(i), gy(ENDY[i])) }
eval SPREAD
column_(i) = (s_ = word(SCALES, i), stringcolumn("scale") eq s_ && picked(0) ? column("d_k") * shift(i) : NaN)
# Open and full dots of a rule; the last two rules have open ones elsewhere.
FULL = "9 7 5 13 11 15 5 7"
dot(i) = (n_ = int(word(FULL, k_of(word(SCALES, i)))), early(0) ? n_ - 1 : n_)
set logscale y
plot [XLO:XHI] [YLO:TOP] 0.1 with lines lw 1 dt (2, 3) lc rgb GREY, 1 with lines lw 1 dt (2, 3) lc rgb GREY, \
    for [i = 1:NS] CSV using (column_(i)):(drawn(num("ratio"))):(dot(i)) with points pt variable lc rgb colour(word(SCALES, i)) lw 1.5 ps 0.9, \
    for [i = 1:NS] $MEDIANS using ($1 == i ? $2 * shift(i) : NaN):(drawn($3)) with lines ls k_of(word(SCALES, i))
unset output
