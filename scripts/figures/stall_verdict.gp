# Which runs train and which stall? The final loss of every run, as a share of the loss of a model
# that does not attend, against d_k: a dot a seed, the medians joined, the verdicts as bands.
#   gnuplot -c scripts/figures/stall_verdict.gp results/stall_runs.csv stall_verdict.png   (or .svg)
# Takes the _runs.csv of any `sqrtdk stall` (one row a run, with the verdict's own ratio; inf where the run diverged).
NAME = "stall_verdict"; CSV = ARG1; OUT = ARG2; KIND = "the _runs.csv of a stall run"
NEEDS = "seed d_k scale lr steps ratio"
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "stall_common.gp"

CAP = 1e-8
SEEDS = ""; STEPS = 0; LOST = 0
stats CSV using (picked(0) ? (SEEDS = with(SEEDS, stringcolumn("seed")), STEPS = max(STEPS, num("steps")), \
    look(num("ratio")), num("ratio") >= HUGE ? (LOST = 1) : 0, 1) : 1) nooutput
dummy = look(9.0) + look(0.01)      # room for the three bands, whatever the runs did
eval FIT
# Runs that diverged have no ratio: they are drawn on a line of their own above the rest.
CEIL = YHI * (YHI / YLO)**0.10
TOP = LOST ? CEIL * (CEIL / YHI)**0.6 : YHI
drawn(v) = !known(v) ? NaN : v >= HUGE / 4 ? CEIL : max(v, YLO)

# Group medians (the median of infinities is one), and where a rule trains, for the title.
array WHERE[NS]; array ENDX[NS]; array ENDY[NS]
set print $MEDIANS
print "rule,d_k,ratio"
do for [i = 1:NS] {
    ran_ = 0; trained_ = 0; upto_ = 0
    do for [d in DKS] {
        found_ = 0
        stats CSV using (row(word(SCALES, i), d + 0) && known(num("ratio")) ? (found_ = found_ + 1) : 1) nooutput
        if (found_ > 0) {
            stats CSV using (row(word(SCALES, i), d + 0) && known(num("ratio")) ? num("ratio") : NaN) nooutput
            print sprintf("%d,%s,%.9g", i, d, STATS_median)
            ran_ = ran_ + 1; ENDX[i] = d + 0; ENDY[i] = drawn(STATS_median)
            if (STATS_median <= 0.1) { trained_ = trained_ + 1; if (trained_ == ran_) { upto_ = d + 0 } }
        }
    }
    WHERE[i] = "trains " . (trained_ == 0 ? "at no d_k" : trained_ == ran_ ? "at every d_k" : \
        upto_ > 0 && int(word(DKS, trained_)) == upto_ ? sprintf("only up to d_k = %d", upto_) : sprintf("at %d of %d widths", trained_, ran_))
    if (NDK == 1) { WHERE[i] = (trained_ ? "trains" : "does not train") . " at d_k = " . DKS }
}
unset print
title_ = "Which runs train, rule by rule"
if (PAIR) {
    title_ = WHERE[1] eq WHERE[2] ? sprintf("Attention %s, with 1/sqrt(d_k) and without the scale", WHERE[1]) : \
        sprintf("With 1/sqrt(d_k) attention %s, without the scale it %s", WHERE[2], WHERE[1])
}

set output OUT
LINE_HEIGHT = 0.050; LEAD = 0.008
SPAN = NDK > 1 ? DMAX * 1.0 / DMIN : 4.0
ROOM = SPAN**0.05                   # the rules stand side by side at each d_k
XLO = DMIN / SPAN**(NS > 4 ? 0.36 : 0.28) / (NDK > 1 ? 1 : 2.0); XHI = DMAX * ROOM * (NDK > 1 ? 1.03 : 2.0)
DK_ROOM = 0.02 + 0.014 * strlen(word(DKS, NDK))
shift(i) = ROOM**(NS > 1 ? ((i - 1.0) / (NS - 1) - 0.5) * min(1, max(0.3, 0.15 * NS)) * min(1, 8.0 / NDK) * 1.7 : 0)
eval DK_AXIS
BARE = 0
eval Y_TICKS
set lmargin at screen 0.098; set rmargin at screen 0.855; set tmargin at screen 0.86; set bmargin at screen 0.125
eval heading(title_, sprintf("%s, %s; a dot a run (%s), medians joined; 1 = no better than not attending", lr_words, plural(STEPS, "step"), plural(words(SEEDS), "seed")))
set xlabel "key width d_k (log scale)" noenhanced offset 0, 0.3
eval y_name(3, "final loss / loss of not attending (ratio, log scale)", 0.4925)
band(n, lo, hi, rgb) = sprintf("set object %d rectangle from graph 0, first %.9g to graph 1, first %.9g behind fillcolor rgb '%s' fillstyle solid 1 noborder", n, lo, hi, rgb)
eval band(1, YLO, 0.1, "#EAF3EC")
eval band(2, 0.1, 1, "#F7F7F7")
eval band(3, 1, YHI, "#F3DDD3")
set label 11 "stalled (>= 1)" at graph 0.012, first sqrt(YHI) left textcolor rgb GREY
set label 12 "slow" at graph 0.012, first sqrt(0.1) left textcolor rgb GREY
set label 13 "trained (<= 0.1)" at graph 0.012, first 0.1 left offset 0, -0.9 textcolor rgb GREY
if (LOST) { set label 14 "diverged" at graph 0.012, first CEIL left textcolor rgb GREY }
YHI = TOP                           # the labels' heights are of the whole graph
do for [i = 1:NS] { eval add_label(twoline(word(SCALES, i)), colour(word(SCALES, i)), ENDX[i] * shift(i), gy(ENDY[i])) }
eval SPREAD
column_(i) = (s_ = word(SCALES, i), stringcolumn("scale") eq s_ && picked(0) ? column("d_k") * shift(i) : NaN)
set logscale y
plot [XLO:XHI] [YLO:TOP] 0.1 with lines lw 1 dt (2, 3) lc rgb GREY, 1 with lines lw 1 dt (2, 3) lc rgb GREY, \
    for [i = 1:NS] CSV using (column_(i)):(drawn(num("ratio"))) with points ls k_of(word(SCALES, i)) ps 0.7, \
    for [i = 1:NS] $MEDIANS using ($1 == i ? $2 * shift(i) : NaN):(drawn($3)) with lines ls k_of(word(SCALES, i))
unset output
