# What does low precision lose in the gradient through the softmax? Its relative error in the median row
# and in the 90 % row against d_k, computed four ways: a dot a seed, the medians joined.
#   scripts/draw stall_precision results/precision.csv stall_precision.png   (or .svg)
# Takes the CSV of any `sqrtdk precision`; shows bfloat16 and the rule none, or else the first there is.
NAME = "stall_precision"; CSV = ARG1; OUT = ARG2; KIND = "the CSV of a precision run"
NEEDS = "seed d_k scale format pipeline median_row_error p90_row_error"
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "common.gp"

SEEDS = ""; FORMATS = ""
stats CSV using (SEEDS = with(SEEDS, stringcolumn("seed")), FORMATS = with(FORMATS, stringcolumn("format")), 1) nooutput
F = in(FORMATS, "bfloat16") ? "bfloat16" : word(FORMATS, 1)
S = word(SCALES, 1)
WAYS = "eager flash eager-shifted flash-shifted"
# None of these stands for a scaling rule in other figures.
INKS = "#8A3A6B #7A5400 #00734F #000000"
set style line 1 lw 2 dt (9, 3, 2, 3) pt 13
set style line 2 lw 2 dt (12, 3) pt 9
set style line 3 lw 2 dt (2, 2) pt 5
set style line 4 lw 2 dt solid pt 7
ink(i) = word(INKS, i)
do for [i = 1:4] { set style line i lc rgb ink(i) }
named(i) = word("eager flash eager,\\nshifted flash,\\nshifted", i)
at(p) = stringcolumn("scale") eq S && stringcolumn("format") eq F && stringcolumn("pipeline") eq p

CAP = 1e-12
stats CSV using (at(stringcolumn("pipeline")) ? (look(num("median_row_error")), look(num("p90_row_error")), 1) : 1) nooutput
dummy = look(1.0)
eval FIT

# Medians over seeds, a block a way: d_k, median row, 90 % row.
array END50[4]; array END90[4]
set print $MEDIANS
print "way,d_k,median_row,p90_row"
do for [i = 1:4] {
    do for [d in DKS] {
        stats CSV using (at(word(WAYS, i)) && column("d_k") == d + 0 ? num("median_row_error") : NaN) nooutput
        END50[i] = STATS_median
        stats CSV using (at(word(WAYS, i)) && column("d_k") == d + 0 ? num("p90_row_error") : NaN) nooutput
        END90[i] = STATS_median
        print sprintf("%d,%s,%.9g,%.9g", i, d, END50[i], END90[i])
    }
}
unset print
percent(v) = v < 0.0995 ? sprintf("%.2g%%", 100 * v) : sprintf("%.0f%%", 100 * v)
title_ = sprintf("%s %s, d_k %d: the median row's gradient is wrong by %s (eager), %s (eager, shifted)", F, in("none sqrt", S) ? pretty(S) : "with scale " . S, DMAX, percent(END50[1]), percent(END50[3]))

set output OUT
LEFT = 0.085; LABELS = 0.09; LINE_HEIGHT = 0.046; GAP = 0.055; OVER = 0.5
WIDE = (0.995 - LEFT - GAP) / 2 - LABELS
LEAD = 0.008 / WIDE
XLO = DMIN / (NDK > 1 ? 1.05 : 2.0); XHI = DMAX * (NDK > 1 ? 1.05 : 2.0)
DK_ROOM = 0.03 + 0.020 * strlen(word(DKS, NDK))
set tmargin at screen 0.785; set bmargin at screen 0.125
set multiplot
eval heading(title_, sprintf("step 0, T 16, batch 32, %s: a dot each, medians joined; shifted: dP less dP at the largest weight", plural(words(SEEDS), "seed")))
REST = ""
do for [f in FORMATS] { if (f ne F) { REST = with(REST, f) } }
do for [s in SCALES] { if (s ne S) { REST = with(REST, short(s)) } }
if (strlen(REST)) { set label 9 "not drawn:" . listed(REST) at screen 0.015, screen 0.868 left noenhanced textcolor rgb GREY font sprintf(",%.1f", H2) }
set xlabel "key width d_k (log scale)" noenhanced offset 0, 0.3
eval y_name(3, "relative error of a row of dZ (log scale)", 0.4625)
panel(p) = sprintf("set lmargin at screen %.9g; set rmargin at screen %.9g", LEFT + (p - 1) * (WIDE + LABELS + GAP), LEFT + (p - 1) * (WIDE + LABELS + GAP) + WIDE)
draw(seeds, medians) = sprintf("plot [XLO:XHI] [YLO:YHI] \
    for [i = 1:4] CSV using (at(word(WAYS, i)) ? column('d_k') : NaN):(onlog(num('%s'))) with points ls i ps 0.35, \
    for [i = 1:4] $MEDIANS using (column('way') == i ? column('d_k') : NaN):(onlog(num('%s'))) with linespoints ls i ps 0.9", seeds, medians)
BARE = 0
eval Y_TICKS
eval panel(1)
set title "median row" noenhanced offset 0, -0.4
do for [i = 1:4] { eval add_label(named(i), ink(i), DMAX, gy(END50[i])) }
eval SPREAD
eval DK_AXIS
set logscale y
eval draw("median_row_error", "median_row")
unset label 1; unset label 2; unset label 3; unset label 9
eval panel(2)
set title "90 % row: every tenth is worse" noenhanced offset 0, -0.4
do for [i = 1:4] { eval add_label(named(i), ink(i), DMAX, gy(END90[i])) }
eval SPREAD
eval draw("p90_row_error", "p90_row")
unset multiplot
unset output
