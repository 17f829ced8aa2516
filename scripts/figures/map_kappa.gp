# Which starts and steps train? The plane of sigma0 (how sharp the first logits are) and kappa (how far
# a step moves them), a cell a training. A trained cell has its steps, shaded; one that did not train is
# hatched by whether another of its row (a softer start, the same step) or of its column (the same start,
# a smaller step) did, and has the letter of its verdict. At lr 1 every constant factor stands on the
# parabola kappa = sigma0^2, and widths move along it.
#   scripts/draw map_kappa results/map.csv map_kappa.png   (or .svg)
# Takes the CSV of a `sqrtdk map` over the plane; shows its first optimizer and seed, and three d_k at most.
NAME = "map_kappa"; CSV = ARG1; OUT = ARG2; KIND = "the CSV of a map over the plane"
NEEDS = "optimizer scale target target_gain batch tokens d_model d_v d_k sigma0 kappa seed gain steps verdict state steps_to_0.1"
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "map_common.gp"

if (!PLANE) { eval die(plain(CSV) . " is a map over rates; map_window draws those") }

# ---- Cells, at logarithms of base 2: where, how they ended, and what others of their row and column did.
MOST = 4000; PANELS = int(min(NDK, 3))
array X[MOST]; array Y[MOST]; array AT[MOST]; array HOW[MOST]; array LIKE[MOST]; array SOON[MOST]
METHOD = word(OPTIMIZERS, 1)
drawn(d) = (sum [p = 1:PANELS] (word(DKS, p) + 0 == d)) && of_seed(0) && stringcolumn("optimizer") eq METHOD && N < MOST
cell(x) = (N = N + 1, X[N] = log2(column("sigma0")), Y[N] = log2(column("kappa")), AT[N] = column("d_k"), \
    HOW[N] = stringcolumn("verdict"), LIKE[N] = stringcolumn("state"), SOON[N] = num("steps_to_0.1"), \
    XMIN = min(XMIN, X[N]), XMAX = max(XMAX, X[N]), YMIN = min(YMIN, Y[N]), YMAX = max(YMAX, Y[N]), 1)
N = 0; XMIN = 1e9; XMAX = -1e9; YMIN = 1e9; YMAX = -1e9
stats CSV using (drawn(column("d_k")) ? cell(0) : 1) nooutput
# A cell is as wide and as high as the first two are apart.
WX = 1e9; WY = 1e9
do for [n = 1:N] {
    if (X[n] > XMIN + 1e-6) { WX = min(WX, X[n] - XMIN) }
    if (Y[n] > YMIN + 1e-6) { WY = min(WY, Y[n] - YMIN) }
}
WX = WX > 1e8 ? 1.0 : WX; WY = WY > 1e8 ? 1.0 : WY
trained(n) = HOW[n] eq "trained"
softer(n)  = (sum [m = 1:N] (AT[m] == AT[n] && near(Y[m], Y[n]) && X[m] < X[n] - 1e-6 && trained(m))) > 0
smaller(n) = (sum [m = 1:N] (AT[m] == AT[n] && near(X[m], X[n]) && Y[m] < Y[n] - 1e-6 && trained(m))) > 0

# Five classes of trained cells, by halves of the steps, then those that did not.
SHADES = "#5B9BD0 #86B6DF #AACDEB #CBE0F4 #E9F2FA"
HATCH  = "#E8A87C #9A9A9A #A98BB0 #C9C9C9 #FFFFFF"
PATTERN = "5 4 1 3 0"
shade(t) = !known(t) || t + 1 > STEPS / 2.0 ? 5 : t + 1 > STEPS / 4.0 ? 4 : t + 1 > STEPS / 8.0 ? 3 : t + 1 > STEPS / 16.0 ? 2 : 1
class(n) = trained(n) ? shade(SOON[n]) : HOW[n] eq "early" ? 10 : softer(n) ? (smaller(n) ? 8 : 6) : smaller(n) ? 7 : 9
letter(v) = v eq "early" ? "e" : v eq "slow" ? "s" : v eq "stalled" ? "S" : v eq "diverged" ? "D" : "t"
mark(n) = trained(n) && known(SOON[n]) ? sprintf("%d", SOON[n] + 1) : letter(HOW[n]) . (LIKE[n] eq "alike" ? "=" : LIKE[n] eq "flatter" ? "-" : "")

# Points of the rules at lr 1, sqrt for all widths.
set print $POINTS
print "rule,d_k,x,y"
do for [e = 3:10] {
    print sprintf("1,%d,%.9g,%.9g", 2**e, e / 2.0, e)
    print sprintf("3,%d,%.9g,%.9g", 2**e, -e / 2.0, -e)
}
print "2,0,0,0"
unset print
# Marks stand in a block of their own, lower where a point or its name, which is right of it, needs the room.
NAMED = "16 64"
named(n) = sum [i = 1:words(NAMED)] (near(Y[n], log2(word(NAMED, i) + 0)) && near(X[n], Y[n] / 2 + 1))
covered(n) = named(n) || (near(Y[n], 2 * X[n]) && (near(X[n], 0) || abs(X[n]) > 1.9))
set print $CELLS
print "x,y,d_k,class"
do for [n = 1:N] { print sprintf("%.9g,%.9g,%d,%d", X[n], Y[n], AT[n], class(n)) }
# (Far outside: a plot of no cell would be complained of.)
do for [p = 1:PANELS] { do for [k in "1 6"] { print sprintf("-99,-99,%s,%s", word(DKS, p), k) } }
unset print
set print $MARKS
print "x,y,d_k,mark"
do for [n = 1:N] { print sprintf("%.9g,%.9g,%d,%s", X[n], Y[n] - (covered(n) ? 0.33 * WY : 0), AT[n], mark(n)) }
unset print
present(d, low, high) = (l_ = "", sum [n = 1:N] (AT[n] == d && class(n) >= low && class(n) <= high ? (l_ = with(l_, sprintf("%d", class(n))), 0) : 0), strlen(l_) ? l_ : sprintf("%d", low))

# ---- What the title may say: whether (1, 1) trained, and whether the widest point of no scale that is a cell did.
cell_at(d, x, y) = (f_ = 0, sum [n = 1:N] (AT[n] == d && near(X[n], x) && near(Y[n], y) ? (f_ = n) : 0), f_)
kept = 0; left = 0
do for [p = 1:PANELS] {
    n_ = cell_at(word(DKS, p) + 0, 0, 0); kept = kept + (n_ ? trained(n_) : 0)
    n_ = cell_at(word(DKS, p) + 0, 4, 8); left = left + (n_ ? !trained(n_) : 0)
}
title_ = METHOD eq "sgd" && kept == PANELS && left == PANELS ? "At lr 1, 1/" . ROOT . " stays at a point that trains; without it wide d_k climb out" : \
    sprintf("Which starts and steps train within %s", plural(STEPS, "step"))

# ---- The page.
set output OUT
LEFT = 0.078; RIGHT = 0.752; GAP = 0.012
WIDE = (RIGHT - LEFT - GAP * (PANELS - 1)) / PANELS
XLO = XMIN - 0.5 * WX; XHI = XMAX + 0.5 * WX; YHI = YMAX + 0.5 * WY
YLO = YMIN - (XMIN == -2 && YMIN == -2 ? 2.5 : 0.5) * WY   # room for the first points of `linear`
SPOT = WY / (YHI - YLO) * 0.715 * 500 < 28 ? 0.75 : 1.2    # a cell has to hold its mark too
set tmargin at screen 0.835; set bmargin at screen 0.120
set multiplot
eval heading(title_, METHOD . ", " . SETTINGS . "; numbers: steps until the ratio was 0.1")
if (NDK > PANELS || words(OPTIMIZERS) > 1) { set label 9 "not drawn:" . (NDK > PANELS ? " d_k" . unshown(DKS, PANELS) : "") . unshown(OPTIMIZERS, 1) at screen 0.015, screen 0.868 left noenhanced textcolor rgb GREY font sprintf(",%.1f", H2) }
eval y_name(3, "kappa: nominal step in logits (log scale)", 0.4775)
set label 4 "sigma0: standard deviation of the first logits (log scale)" at screen (LEFT + RIGHT) / 2, screen 0.030 center noenhanced

# The legend, right of the panels.
KEYX = 0.768
swatch(n, y) = sprintf("set object %d rectangle from screen %g, screen %g to screen %g, screen %g front fillcolor rgb '%s' fillstyle %s border lc rgb GREY lw 0.5", \
    200 + n, KEYX, y - 0.016, KEYX + 0.030, y + 0.016, n <= 5 ? word(SHADES, n) : word(HATCH, n - 5), n <= 5 ? "solid 1" : "pattern " . word(PATTERN, n - 5))
words_at(n, text, x, y) = sprintf("set label %d \"%s\" at screen %g, screen %g left noenhanced font ',%.1f'", n, text, x, y + (lines(text) - 1) * 0.0155 * LEADING, SMALL)
said(n, text, y) = swatch(n, y) . "; " . words_at(200 + n, text, KEYX + 0.038, y)
# Only what occurs stands there.
occurs(low, high) = (sum [n = 1:N] (class(n) >= low && class(n) <= high)) > 0
any(v) = (sum [n = 1:N] (HOW[n] eq v)) > 0
alike(v) = (sum [n = 1:N] (!trained(n) && LIKE[n] eq v)) > 0
array CLASS_SAYS[10] = ["", "", "", "", "", "start too sharp: a softer\none of its row trains", "step too large: a smaller\none of its column trains", \
    "either of these would do", "neither alone would do", "early: too few steps to tell"]
y_ = 0.850
if (occurs(1, 5)) { eval words_at(220, "trained; the ratio was 0.1", KEYX, y_) }
do for [k = 1:5] { if (occurs(k, k)) { y_ = y_ - 0.040; eval said(k, sprintf("within %d steps", int(STEPS / 2.0**(5 - k))), y_) } }
if (occurs(6, 10)) { y_ = y_ - (occurs(1, 5) ? 0.047 : 0); eval words_at(221, sprintf("not trained in %d steps, and", STEPS), KEYX, y_) }
do for [k = 6:10] { if (occurs(k, k)) { y_ = y_ - (k < 8 ? 0.052 : 0.040); eval said(k, CLASS_SAYS[k], y_); y_ = y_ - (k < 8 ? 0.010 : 0) } }
letters_ = ""
do for [v in "early slow stalled diverged"] { if (any(v)) { letters_ = letters_ . (strlen(letters_) ? ", " : "") . letter(v) . " " . v } }
if (strlen(letters_)) { y_ = y_ - 0.074; eval words_at(222, letters_ . ";\nsharper than the teacher" . (alike("alike") ? ", with\n= about as sharp" : "") . (alike("flatter") ? ", with - flatter" : ""), KEYX, y_) }
INKS = "#A84300 #0A3F73 #00734F"
SPOTS = "9 7 5"
spot(r, text, y) = words_at(230 + r, text, KEYX + 0.038, y) . sprintf("; set label %d '' at screen %g, screen %g point pt %s ps 1.2 lc rgb '%s'", 240 + r, KEYX + 0.015, y, word(SPOTS, r), word(INKS, r))
# The points of a rule that lie in the picture: the least and the greatest d_k.
inside(x, y) = x > XLO && x < XHI && y > YLO && y < YHI
least(sign) = (l_ = 0, sum [e = 3:10] (inside(sign * e / 2.0, sign * e) && !l_ ? (l_ = 2**e, 0) : 0), l_)
most(sign) = (l_ = 0, sum [e = 3:10] (inside(sign * e / 2.0, sign * e) ? (l_ = 2**e, 0) : 0), l_)
span(sign) = least(sign) == most(sign) ? sprintf("d_k %d", least(sign)) : sprintf("d_k %d to %d", least(sign), most(sign))
y_ = 0.212
if (most(1) || inside(0, 0) || most(-1)) { eval words_at(223, "rules at lr 1:", KEYX, y_) }
if (most(1)) { y_ = y_ - 0.038; eval spot(1, "no scale: " . span(1), y_) }
if (inside(0, 0)) { y_ = y_ - 0.038; eval spot(2, "1/" . ROOT . ": every d_k", y_) }
if (most(-1)) { y_ = y_ - 0.038; eval spot(3, "linear: " . span(-1), y_) }

# ---- Panels.
panel(p) = sprintf("set lmargin at screen %.9g; set rmargin at screen %.9g", LEFT + (p - 1) * (WIDE + GAP), LEFT + (p - 1) * (WIDE + GAP) + WIDE)
simple(v) = v < 1 ? sprintf("1/%g", 1 / v) : sprintf("%g", v)
of(d, k) = column("d_k") == d && column("class") == k + 0 ? column("x") : NaN
set tics noenhanced font FONT
set xtics () offset 0, 0.4
do for [e = ceil(XMIN):floor(XMAX)] { set xtics add (simple(2.0**e) e) }
do for [p = 1:PANELS] {
    d = word(DKS, p) + 0
    eval panel(p)
    set ytics ()
    do for [e = ceil(YMIN):floor(YMAX):2] { set ytics add ((p > 1 ? "" : simple(2.0**e)) e) }
    set title sprintf("d_k = %d", d) noenhanced offset 0, -0.7
    if (YLO < YMIN - 2 * WY) {
        set arrow 1 from 1, YLO + 0.35 * WY to 1, YMIN - 0.75 * WY lw 1.2 lc rgb GREY
        set arrow 2 from 2, YLO + 0.6 * WY to 3, YLO + 1.6 * WY lw 1.2 lc rgb GREY
        set arrow 3 from 4, YLO + 0.35 * WY to 4.6, YLO + 1.55 * WY lw 1.2 lc rgb GREY
        set label 11 "lr" at 1.12, YLO + 0.9 * WY left font FONT
        set label 12 "gain" at 2.75, YLO + 0.75 * WY left font FONT
        set label 13 "scale" at 4.5, YLO + 0.75 * WY left font FONT
    }
    plot [XLO:XHI] [YLO:YHI] \
        for [k in present(d, 1, 5)] $CELLS using (of(d, k)):(column("y")):(WX / 2):(WY / 2) with boxxyerror fillcolor rgb word(SHADES, k + 0) fillstyle solid 1 border lc rgb "#FFFFFF", \
        for [k in present(d, 6, 10)] $CELLS using (of(d, k)):(column("y")):(WX / 2):(WY / 2) with boxxyerror fillcolor rgb word(HATCH, k - 5) fillstyle pattern int(word(PATTERN, k - 5)) border lc rgb "#BBBBBB", \
        [t = XLO:XHI] '+' using (t):(2 * t) with lines lw 1.5 dt (4, 3) lc rgb "#333333", \
        for [r = 1:3] $POINTS using (column("rule") == r ? column("x") : NaN):(column("y")) with points pt int(word(SPOTS, r)) ps 1.6 * SPOT lc rgb "white", \
        for [r = 1:3] $POINTS using (column("rule") == r ? column("x") : NaN):(column("y")) with points pt int(word(SPOTS, r)) ps SPOT lc rgb word(INKS, r), \
        $POINTS using (column("rule") == 1 && in(NAMED, stringcolumn("d_k")) ? column("x") : NaN):(column("y")):("d_k " . stringcolumn("d_k")) with labels left offset 1.2, 0.4 noenhanced font FONT textcolor rgb "#6B2A00", \
        $MARKS using (column("d_k") == d ? column("x") : NaN):(column("y")):(stringcolumn("mark")) with labels noenhanced font FONT textcolor rgb "#111111"
    unset for [k = 1:300] label k
    unset for [k = 1:300] object k
}
unset multiplot
unset output
