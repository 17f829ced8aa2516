# How far does a finite difference get? Relative error of dL/dQ (at one large element, for an easy row
# and for a saturated one) against the step h, for forward, central and extrapolated differences: large
# steps are wrong by truncation (slopes 1, 2, 6), small ones by rounding (slope -1), and between them
# lies the best step. The box is what the check makes of it: as wide as the steps that it takes its
# value from, as high as the error bar that it gives; the dot is the error it really has.
#   scripts/draw gradcheck_steps results/gradcheck_steps.csv gradcheck_steps.png
# Takes the _steps.csv of `sqrtdk gradcheck`.
NAME = "gradcheck_steps"; CSV = ARG1; OUT = ARG2; KIND = "the _steps.csv of sqrtdk gradcheck"
NEEDS = "d_k scale method h error bar"
HERE = ""
do for [i = 1:strlen(ARG0)] { if (ARG0[i:i] eq "/") { HERE = ARG0[1:i] } }
load HERE . "page.gp"
WIDTHS = ""
stats CSV using (WIDTHS = with(WIDTHS, stringcolumn("d_k")), 1) nooutput

METHODS = "forward central extrapolated"
# None of these stands for a scaling rule in other figures.
COLOURS = "#7A5400 #000000 #00734F"
POINTS = "9 7 5"
BAR = "#8A3FA0"
set border 3 lc rgb GREY
set tics nomirror out scale 0.5 textcolor rgb "#333333"
unset key
set logscale xy
set xrange [1e-12:1]
set yrange [1e-16:10]
set format x "10^{%T}"
set format y "10^{%T}"
set xtics 1e-12, 1000, 1
set ytics 1e-16, 10000, 1
set mxtics 1
set mytics 1
set output OUT
set multiplot
eval heading("Truncation on the right, rounding on the left: the V of finite differences", \
    "attention of 4 queries and 5 keys, whatever --op and --d-k are; dL/dQ at one large element. Box: chosen steps, error bar")
eval y_name(3, "relative error (no unit, log scale)", 0.47)
set tmargin at screen 0.82
set bmargin at screen 0.125
# Where truncation rules, the error is that at h = 0.1 (0.56 for the extrapolated ones) times a power;
# where rounding does, a constant over h.
at(method, h) = sprintf("a_ = 0; stats CSV using (stringcolumn('d_k') eq W && stringcolumn('method') eq '%s' && abs(column('h') / %g - 1) < 0.1 ? (a_ = column('error'), 1) : 1) nooutput", method, h)
do for [p = 1:words(WIDTHS)] {
    W = word(WIDTHS, p)
    unset logscale; set xrange [*:*]; set yrange [*:*]
    eval at("forward", 0.1); F = a_
    eval at("central", 0.1); C = a_
    eval at("extrapolated", 0.562); X = a_
    SCALE = ""; B = 0; E = 0; H1 = 0; H2 = 0
    stats CSV using (stringcolumn("d_k") eq W && stringcolumn("method") eq "plateau" ? (SCALE = stringcolumn("scale"), B = column("bar"), E = column("error"), H1 = (H1 == 0 ? column("h") : H1), H2 = column("h"), 1) : 1) nooutput
    stats CSV using (stringcolumn("d_k") eq W && stringcolumn("method") eq "central" && column("h") < 1e-8 && column("error") > 0 ? log(column("error") * column("h")) : NaN) name "R" nooutput
    ROUNDING = exp(R_mean)
    set logscale xy; set xrange [1e-12:1]; set yrange [1e-16:10]
    forward(h) = F * h / 0.1
    central(h) = C * (h / 0.1) ** 2
    set lmargin at screen 0.1 + (p - 1) * 0.455
    set rmargin at screen 0.1 + (p - 1) * 0.455 + 0.315
    set format y (p == 1 ? "10^{%T}" : "")   # one axis for both panels
    set title "d_k = " . W . (SCALE eq "none" ? ", no scale: saturated" : ", scaled") noenhanced offset 0, -0.4
    set xlabel "step h (log scale)" offset 0, 0.3 noenhanced
    set object 11 rectangle from H1, 1e-16 to H2, B fs solid 0.3 noborder fc rgb BAR
    set label 11 "chosen steps\nand bar" at H1 / 1.6, 2e-14 right textcolor rgb BAR noenhanced
    set label 12 "forward\n(slope 1)" at 2, F * 60 left textcolor rgb word(COLOURS, 1) noenhanced
    set label 13 "central\n(slope 2)" at 2, (C * 50 < F * 60 / 150 ? C * 50 : F * 60 / 150) left textcolor rgb word(COLOURS, 2) noenhanced
    set label 14 "extrapolated\n(slope 6)" at 2, X left textcolor rgb word(COLOURS, 3) noenhanced
    set label 15 "rounding\n(slope -1)" at graph 0.02, graph 0.30 left textcolor rgb GREY noenhanced
    plot for [m = 1:3] CSV using (stringcolumn("d_k") eq W && stringcolumn("method") eq word(METHODS, m) ? column("h") : NaN) \
        :(column("error") > 1e-16 ? column("error") : 1e-16) with points pt int(word(POINTS, m)) ps 0.7 lc rgb word(COLOURS, m), \
        x > 1e-7 ? forward(x) : NaN with lines dt (4, 3) lc rgb word(COLOURS, 1), \
        x > 1e-5 ? central(x) : NaN with lines dt (4, 3) lc rgb word(COLOURS, 2), \
        x > 3e-2 ? X * (x / 0.562) ** 6 : NaN with lines dt (4, 3) lc rgb word(COLOURS, 3), \
        ROUNDING / x with lines dt (1, 3) lc rgb GREY, \
        "+" using (sqrt(H1 * H2)):(E > 1e-16 ? E : 1e-16) every ::::0 with points pt 13 ps 1.3 lc rgb BAR
    unset label 1; unset label 2; unset label 3
}
unset multiplot
unset output
