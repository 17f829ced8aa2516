# Does the signal through the softmax vanish? On average it falls like 1/sqrt(d_k), because a few rows
# near a tie carry it; for the typical (median) row it vanishes exponentially.
#   gnuplot -c scripts/figures/saturation_signal.gp results/saturation.csv saturation_signal.png   (or .svg)
# Takes the CSV of any `sqrtdk saturation`; shows the number of keys nearest 16, and the rules none and sqrt.
NAME = "saturation_signal"; CSV = ARG1; OUT = ARG2
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "saturation_common.gp"

N = nearest_keys(16)
S = word(PAIR, 1)                      # the rule that the laws are drawn for

CAP = 1e-8
stats CSV using (in(PAIR, stringcolumn("scale")) && column("keys") == N && stringcolumn("metric") eq "jacobian_norm" && \
    (stringcolumn("statistic") eq "mean" || stringcolumn("statistic") eq "median") ? (look(num("value")), 1) : 1) nooutput
dummy = look(1.0)
eval FIT

# c(n) and m(n); the laws hold for a large deviation sigma of the logits.
C = 0; MGAP = 0; SIGMA = 0; RMS = 0; AT = 0
if (in(LINES, S)) {
    stats THEORY using (line_at(S, N) ? (C = num("gap_density"), MGAP = num("median_gap"), column("d_k") >= AT ? (AT = column("d_k"), SIGMA = num("sigma"), RMS = num("jacobian_rms")) : 0, 1) : 1) nooutput
}
c_law(sigma) = C / sigma
law_at(x) = line_at(S, N) && num("sigma") > 2 ? column("d_k") : NaN
m_law(sigma) = 2 * exp(-MGAP * sigma)    # |J| = 2 w(1-w) of the two largest: twice the law of 1 - max w

eval find(S, N, "jacobian_norm", "mean")
mean_ = y0_ / y1_; from_ = x0_; ymean_ = y1_
eval find(S, N, "jacobian_norm", "median")
ymedian_ = y1_
title_ = "The norm of the softmax's Jacobian against d_k"
two_digits(x) = (p_ = 10.0**(decade(x) - 1), p_ * floor(x / p_ + 0.5))
fold(x) = x < 100 ? sprintf("%.2g-fold", x) : sprintf(x < 1e6 ? "%.0f-fold" : "%.0e-fold", two_digits(x))
if (S eq "none" && NDK > 1 && mean_ > 1.5 && y1_ > 0) {
    title_ = sprintf("Without the scale the mean signal falls %s from d_k %d to %d, the typical row's %s", fold(mean_), DMIN, DMAX, fold(y0_ / y1_))
}

set output OUT
LINE_HEIGHT = 0.046; LEAD = 0.008
DK_ROOM = 0.02 + 0.014 * strlen(word(DKS, NDK))
set lmargin at screen 0.098; set rmargin at screen 0.785; set tmargin at screen 0.86; set bmargin at screen 0.125
eval heading(title_, sprintf("Frobenius norm of the Jacobian diag(w) - w w^T over random rows of %d keys; %s", N, BARS))
eval y_name(3, "|J| (no unit, log scale)", 0.4925)
set xlabel "key width d_k (log scale)" noenhanced offset 0, 0.3
eval DK_AXIS
BARE = 0
eval Y_TICKS
if (AT > 0) {
    eval add_label("exact: root of E|J|^2", "#000000", AT, gy(RMS))
}
if (SIGMA > 2) {
    eval add_label("mean law:\nc / sigma", "#333333", AT, gy(c_law(SIGMA)))
    eval add_label("median law:\n2 exp(-m sigma)", "#333333", AT, gy(m_law(SIGMA)))
}
do for [s in PAIR] {
    eval find(s, N, "jacobian_norm", "mean")
    ym_ = y1_
    eval find(s, N, "jacobian_norm", "median")
    if (abs(log(ym_ / max(y1_, 1e-300))) < 0.2) {
        eval add_label("mean and median row,\n" . pretty(s), colour(s), DMAX, gy(ym_))
    } else {
        eval add_label("mean row,\n" . pretty(s), colour(s), DMAX, gy(ym_))
        eval add_label("median row,\n" . pretty(s), colour(s), DMAX, gy(y1_))
    }
}
eval SPREAD
f_ = 2 * log(1.0 * N)
if (S eq "none" && f_ > XLO && f_ < XHI) {
    set arrow 60 from first f_, graph 0 to first f_, graph 1 nohead lw 1 dt (2, 3) lc rgb GREY
    set label 60 sprintf("freezing line d_k* = 2 ln n = %.3g", f_) at first f_, graph 0.03 left offset 0.7, 0 noenhanced textcolor rgb GREY
}
if (SIGMA > 2) {
    set label 61 sprintf("laws for large sigma = %s: c = %.3g, m = %.3g", S eq "none" ? "sqrt(d_k)" : "deviation of the logits", C, MGAP) at graph 0.99, graph 0.95 right noenhanced textcolor rgb GREY
}
set logscale y
full(s) = int(word("9 7", s eq "sqrt" ? 2 : 1)); hollow(s) = int(word("8 6", s eq "sqrt" ? 2 : 1))
# Put together as text, because a loop over nothing draws (and complains) once.
eval 'plot [XLO:XHI] [YLO:YHI] ' . \
    (words(PAIR_LINES) == 0 ? '' : 'for [s in PAIR_LINES] THEORY using (line_at(s, N) ? column("d_k") : NaN):(num("jacobian_rms")) with lines lw 1.5 lc rgb "#000000", ') . \
    (SIGMA <= 2 ? '' : 'THEORY using (law_at(0)):(c_law(num("sigma"))) with lines lw 1.5 dt (9, 4) lc rgb GREY, \
        THEORY using (law_at(0)):(onlog(m_law(num("sigma")))) with lines lw 1.5 dt (2, 3) lc rgb GREY, ') . \
    'for [s in PAIR] CSV using (at(s, N, "jacobian_norm", "median") ? column("d_k") : NaN):(onlog(num("value"))) with points pt hollow(s) ps 1.2 lw 1.5 lc rgb colour(s), \
    for [s in PAIR] CSV using (at(s, N, "jacobian_norm", "mean") ? column("d_k") : NaN):(num("value")):(max(0, 2 * num("standard_error"))) with yerrorbars pt full(s) ps 1.1 lw 1 lc rgb colour(s)'
unset output
