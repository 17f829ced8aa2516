# Does the signal through the softmax vanish? On average it falls like 1/sqrt(d_k), because a few rows
# near a tie carry it; for the typical (median) row it vanishes exponentially.
#   scripts/draw saturation_signal results/saturation.csv saturation_signal.png   (or .svg)
# Takes the CSV of any `sqrtdk saturation`; shows the number of keys nearest 16, and the rules none and sqrt.
NAME = "saturation_signal"; CSV = ARG1; OUT = ARG2
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "saturation_common.gp"

eval only("jacobian_norm")
N = nearest_keys(16)
S = word(PAIR, 1)                      # the rule that the laws are drawn for
MOST = 2.0                             # the laws hold for a large deviation sigma of the logits: above this

CAP = 1e-8
eval left_out(PAIR, sprintf("%d", N))
stats ROWS using (in(PAIR, stringcolumn("scale")) && column("keys") == N && \
    (stringcolumn("statistic") eq "mean" || stringcolumn("statistic") eq "median") ? (look(num("value")), 1) : 1) nooutput
dummy = look(1.0)
eval FIT

# c(n) and m(n), and sigma at the greatest d_k.
C = 0; MGAP = 0; SIGMA = 0
if (in(LINES, S)) {
    stats THEORY using (line_at(S, N) ? (C = num("gap_density"), MGAP = num("median_gap"), SIGMA = max(SIGMA, num("sigma")), 1) : 1) nooutput
}
LAWS = S eq "none" && SIGMA > 2 * MOST && NDK > 1
law_at(x) = line_at(S, N) && num("sigma") > MOST ? column("d_k") : NaN
c_law(sigma) = C / sigma
m_law(sigma) = 2 * exp(-MGAP * sigma)    # |J| = 2 w(1-w) of the two largest: twice the law of 1 - max w

eval find(S, N, "jacobian_norm", "mean")
mean_ = y0_ / y1_
eval find(S, N, "jacobian_norm", "median")
title_ = "The norm of the softmax's Jacobian " . (NDK > 1 ? "against d_k" : "at d_k " . DKS)
two_digits(x) = (p_ = 10.0**(decade(x) - 1), p_ * floor(x / p_ + 0.5))
fold(x) = x < 100 ? sprintf("%.2g-fold", x) : sprintf(x < 1e6 ? "%.0f-fold" : "%.0e-fold", two_digits(x))
if (S eq "none" && NDK > 1 && mean_ > 1.5 && y1_ > 0) {
    title_ = sprintf("Without the scale mean |J| falls %s from d_k %d to %d, |J| of the median row %s", fold(mean_), DMIN, DMAX, fold(y0_ / y1_))
}

set output OUT
DK_ROOM = 0.02 + 0.014 * strlen(word(DKS, NDK))
set lmargin at screen 0.098; set rmargin at screen 0.965; set tmargin at screen 0.86 - SINK; set bmargin at screen 0.125
eval told(title_, sprintf("Frobenius norm |J| of the softmax's Jacobian, %s %d keys, bars 2 standard errors%s", DRAWN, N, \
    LAWS ? sprintf("; c = %.3g, m = %.3g", C, MGAP) : ""))
eval y_name(3, "|J| (no unit, log scale)", 0.4925)
set xlabel "key width d_k (log scale)" noenhanced offset 0, 0.3
eval DK_AXIS
BARE = 0
eval Y_TICKS
# Words stand at what they name: of rules whose mean and median hardly part above them; else those of the
# mean below its end, those of the median left of its curve where it has fallen half way.
apart_(s) = sprintf("eval find('%s', N, 'jacobian_norm', 'mean'); m_ = y1_; eval find('%s', N, 'jacobian_norm', 'median'); parted_ = y1_ < m_ / 1.5", s, s)
say(i, s, text, x, y, how) = sprintf("set label %d \"%s\" at first %.9g, first %.9g %s noenhanced textcolor rgb '%s'", 60 + i, text, x, y, how, letters(s))
# (Of one d_k they stand beside its point.)
edge_ = XLO * (XHI / XLO)**0.985
ends_(how) = NDK > 1 ? how : "left offset 1.5, 0"
set logscale y
do for [k = 1:words(PAIR)] {
    s = word(PAIR, k)
    eval apart_(s)
    if (!parted_) {
        eval say(3 * k, s, pretty(s) . ": mean and median row", NDK > 1 ? edge_ : DMIN, onlog(m_), ends_(k == words(PAIR) ? "right offset 0, 1.1" : "right offset 0, -1.1"))
    } else {
        laws_ = s eq S && LAWS
        eval say(3 * k, s, pretty(s) . ",\nmean row" . (laws_ ? ": c/" . ROOT : ""), NDK > 1 ? edge_ : DMIN, onlog(m_), ends_("right offset 0, -1.5"))
        half_ = sqrt(m_ * onlog(y1_)); xh_ = 0; yh_ = 0
        stats ROWS using (at(s, N, "jacobian_norm", "median") && num("value") < half_ && (xh_ == 0 || column("d_k") < xh_) ? (xh_ = column("d_k"), yh_ = onlog(num("value")), 1) : 1) nooutput
        eval say(3 * k + 1, s, pretty(s) . ",\nmedian row" . (laws_ ? ": 2 exp(-m" . ROOT . ")" : ""), xh_, yh_, gy(yh_) < 0.1 ? "right offset -2.5, 0.8" : "right offset -2.5, 0.2")
    }
}
full(s) = int(word("9 7", s eq "sqrt" ? 2 : 1)); hollow(s) = int(word("8 6", s eq "sqrt" ? 2 : 1))
eval RAW
eval DK_AXIS
set logscale y
# Put together as text, because a line of nothing is complained of.
eval 'plot [XLO:XHI] [YLO:YHI] ' . \
    (!LAWS ? '' : 'THEORY using (law_at(0)):(c_law(num("sigma"))) with lines lw 1.5 dt (9, 4) lc rgb colour(S), \
        THEORY using (law_at(0)):(onlog(m_law(num("sigma")))) with lines lw 2 dt (2, 3) lc rgb colour(S), ') . \
    'for [s in PAIR] ROWS using (at(s, N, "jacobian_norm", "median") ? column("d_k") : NaN):(onlog(num("value"))) with points pt hollow(s) ps 1.2 lw 1.5 lc rgb colour(s), \
    for [s in PAIR] ROWS using (at(s, N, "jacobian_norm", "mean") ? column("d_k") : NaN):(num("value")):(max(0, 2 * num("standard_error"))) with yerrorbars pt full(s) ps 1.1 lw 1 lc rgb colour(s)'
unset output
