# Is it the sharp start or the large step that stalls? The loss, as a share of the loss of a model that
# does not attend, against the step: a line a control, by how sharp it starts, and at its end the
# verdict's ratio, of the last 20 steps. Medians over seeds; bands of so many lines could not be told
# apart.
#   scripts/draw controls results/controls.csv controls.png   (or .svg)
# Takes the CSV of scripts/controls.
NAME = "controls"; CSV = ARG1; OUT = ARG2; KIND = "the CSV of scripts/controls"
NEEDS = "control d_k scale step seeds ratio_median steps verdict final_ratio_median logit_std"
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "common.gp"

# Rows of a control stand together; its name has blanks, so it goes by its number.
CAP = 1e-8
array CONTROL[40]; array START[40]; array VERDICT[40]; array STEPS[40]; array RUNS[40]; array ENDX[40]; array ENDY[40]; array FINAL[40]
N = 0; last = ""; XMAX = 1
number(x) = (now = stringcolumn("control"), now eq last ? N : (last = now, N = N + 1))
begun(n) = (CONTROL[n] = stringcolumn("control"), START[n] = num("logit_std"), VERDICT[n] = stringcolumn("verdict"), \
    STEPS[n] = num("steps"), FINAL[n] = num("final_ratio_median"), RUNS[n] = num("seeds"), 0)
stats CSV using (before_ = N, n_ = number(0), n_ > before_ ? begun(n_) : 0, \
    ENDX[n_] = num("step") + 1, ENDY[n_] = num("ratio_median"), XMAX = max(XMAX, num("step") + 1), look(num("ratio_median")), 1) nooutput
dummy = look(1.0)
eval FIT
YLO = min(YLO, 0.5)

# Soft and sharp, where the starts differ by more than twofold: parted at the geometric mean of the
# least and the greatest.
least = 1e300; most = 0; fewest = 1e9; longest = 0
do for [n = 1:N] { least = min(least, START[n]); most = max(most, START[n]); fewest = min(fewest, STEPS[n]); longest = max(longest, STEPS[n]) }
parted = most > 2 * least
sharp(n) = parted && START[n] > sqrt(least * most)
array TOLD[2]; array TRAINED[2]; array EARLY[2]; array FROM[2]; array UPTO[2]
do for [k = 1:2] { TOLD[k] = 0; TRAINED[k] = 0; EARLY[k] = 0; FROM[k] = 1e300; UPTO[k] = 0 }
do for [n = 1:N] {
    k = 1 + sharp(n)
    FROM[k] = min(FROM[k], START[n]); UPTO[k] = max(UPTO[k], START[n])
    if (VERDICT[n] eq "early") { EARLY[k] = EARLY[k] + 1 } else { TOLD[k] = TOLD[k] + 1; TRAINED[k] = TRAINED[k] + (VERDICT[n] eq "trained") }
}
trains(k, what) = sprintf("%d of %d%s", TRAINED[k], TOLD[k], what) . (EARLY[k] ? sprintf(" (%d more early)", EARLY[k]) : "")
title_ = parted ? sprintf("At d_k = %d, %s with a soft start train; with a sharp one %s", DMAX, trains(1, " controls"), trains(2, "")) : \
    sprintf("At d_k = %d, %s train", DMAX, trains(1, " controls"))

# The seeds of most, and who has others.
array LIKE[40]
commonest = 1
do for [n = 1:N] { LIKE[n] = sum [m = 1:N] (RUNS[m] == RUNS[n]); if (LIKE[n] > LIKE[commonest]) { commonest = n } }
seeds_ = plural(RUNS[commonest], "seed")
others = ""
do for [n = 1:N] { if (STEPS[n] == longest && longest > fewest && RUNS[n] != RUNS[commonest]) { others = sprintf("; long: %s", RUNS[n] == 1 ? "one seed" : plural(RUNS[n], "seed")) } }
steps_ = longest > fewest ? sprintf("%d and %d steps", fewest, longest) : plural(fewest, "step")

said(c) = (at_ = strstrt(c, "sqrt(d_k)"), at_ ? c[1:at_ - 1] . ROOT . c[at_ + 9:*] : c)
row(n) = stringcolumn("control") eq CONTROL[n]
INK(n) = word(COLOURS, 2 - sharp(n))
set output OUT
LINE_HEIGHT = 0.047; LEAD = 0.012; OVER = 0.5
BARE = 0
eval Y_TICKS
set lmargin at screen 0.098; set rmargin at screen 0.60; set tmargin at screen 0.86; set bmargin at screen 0.125
# (scripts/controls leaves T, batch and d_model at their defaults.)
eval heading(title_, sprintf("T 16, batch 32, d_model 32, %s; medians of %s%s; start: standard deviation of the first logits", steps_, seeds_, others))
set xlabel "step + 1 (log scale)" noenhanced offset 0, 0.3
eval y_name(3, "loss / loss of not attending (ratio, log scale)", 0.4925)
spread_(k) = UPTO[k] < 1.05 * FROM[k] ? sprintf("%.2g", UPTO[k]) : sprintf("%.2g to %.2g", FROM[k], UPTO[k])
legend(n, k, words_, y) = sprintf("set label %d \"%s start (%s)\" at screen 0.70, screen %g left noenhanced textcolor rgb '%s'; \
    set arrow %d from screen 0.62, screen %g to screen 0.69, screen %g nohead ls %d", n, words_, spread_(k), y, word(COLOURS, 3 - k), n, y, y, 3 - k)
if (parted) {
    eval legend(21, 2, "sharp", 0.075)
    eval legend(22, 1, "soft", 0.033)
}
do for [n = 1:N] {
    undone_ = VERDICT[n] eq "early" || VERDICT[n] eq "diverged" ? " (" . VERDICT[n] . ")" : ""
    ratio_ = FINAL[n] >= HUGE ? "" : FINAL[n] < CAP ? "<1e-8  " : sprintf("%.2g  ", FINAL[n])
    eval add_label(ratio_ . said(CONTROL[n]) . undone_, INK(n), ENDX[n], gy(ENDY[n]))
}
set label 23 "not attending" at graph 0.985, first 1 right offset 0, -0.7 noenhanced textcolor rgb GREY
eval SPREAD
set logscale xy
plot [1:XMAX] [YLO:YHI] 1 with lines lw 1 dt (2, 3) lc rgb GREY, \
    for [n = 1:N] CSV using (row(n) ? num("step") + 1 : NaN):(onlog(num("ratio_median"))) with lines ls 2 - sharp(n)
unset output
