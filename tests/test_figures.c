/* test_figures.c: what figures say in words and numbers is what their data holds. Drawn as SVG,
 * whose text is text. Without gnuplot nothing is drawn, and a note says so. */
#include <stdlib.h>
#include <string.h>

#include "common/progress.h"
#include "suites.h"
#include "support.h"

static void assert_holds(const char *svg, const char *text) {
    ck_assert_msg(strstr(svg, text) != NULL, "no \"%s\" in the figure", text);
}

static void assert_lacks(const char *svg, const char *text) {
    ck_assert_msg(strstr(svg, text) == NULL, "\"%s\" in the figure", text);
}

/* Two widths and rules at each rate: all train, but without the scale at d_k 64 none does. */
static void write_runs(const char *const *rate, int rates) {
    char text[4096];
    size_t used = (size_t)snprintf(text, sizeof text,
                                   "seed,d_k,scale,optimizer,lr,steps,ratio,verdict,options\n");
    for (int i = 0; i < rates; i++)
        used += (size_t)snprintf(
            text + used, sizeof text - used,
            "0,8,none,sgd,%s,70,0.01,trained,--init-gain <&>\n0,8,sqrt,sgd,%s,70,0,trained,\n"
            "0,64,none,sgd,%s,70,3,stalled,\n0,64,sqrt,sgd,%s,70,0.02,trained,\n",
            rate[i], rate[i], rate[i], rate[i]);
    write_text(SCRATCH "fig_runs.csv", text);
    write_text(SCRATCH "fig.meta", "seed = 0\ntokens = 12\nbatch = 7\n\nversion = 1\n");
}

START_TEST(an_svg_has_its_heading_as_title_and_description) {
    if (!have_gnuplot()) return;
    write_runs((const char *const[]){"1"}, 1);
    char *svg = drawn("stall_verdict", "fig_runs.csv");
    assert_holds(svg, "<title id=\"title\">Within 70 steps attention trains at every d_k with "
                      "1/\u221ad_k, only at d_k = 8 without the scale</title>");
    assert_holds(svg, "sgd, lr 1, 70 steps, T 12, batch 7, seed 0; --init-gain "
                      "&lt;&amp;></desc>");
    assert_holds(svg, "role=\"img\" aria-labelledby=\"title description\"");
    assert_lacks(svg, "GNUPLOT");
    assert_lacks(svg, "using (");
    assert_holds(svg, "<text textLength=\"");
    free(svg);
}
END_TEST

START_TEST(a_ratio_of_zero_stands_on_a_marked_floor) {
    if (!have_gnuplot()) return;
    write_runs((const char *const[]){"1"}, 1);
    char *svg = drawn("stall_verdict", "fig_runs.csv");
    assert_holds(svg, "0, &lt;");
    free(svg);
}
END_TEST

START_TEST(each_rate_has_a_panel_and_those_left_out_are_named) {
    if (!have_gnuplot()) return;
    write_runs((const char *const[]){"0.1", "1"}, 2);
    char *svg = drawn("stall_verdict", "fig_runs.csv");
    assert_holds(svg, "Of 2 rates 2 train every d_k within 70 steps with 1/\u221ad_k, 0 without<");
    assert_holds(svg, ">lr 0.1</text>");
    assert_holds(svg, ">lr 1</text>");
    assert_lacks(svg, "not drawn");
    free(svg);
    write_runs((const char *const[]){"1", "2", "3", "4", "5", "6", "7", "8"}, 8);
    svg = drawn("stall_verdict", "fig_runs.csv");
    assert_holds(svg, "not drawn: lr 7, lr 8");
    free(svg);
}
END_TEST

START_TEST(rates_with_early_runs_are_no_failures) {
    if (!have_gnuplot()) return;
    write_text(SCRATCH "fig_runs.csv",
               "seed,d_k,scale,optimizer,lr,steps,ratio,verdict,options\n"
               "0,8,none,sgd,1,70,9,stalled,\n0,8,sqrt,sgd,1,70,0.9,early,\n"
               "0,8,none,sgd,2,70,9,stalled,\n0,8,sqrt,sgd,2,70,0.01,trained,\n");
    char *svg = drawn("stall_verdict", "fig_runs.csv");
    assert_holds(svg, "Of 2 rates 1 trains d_k 8 within 70 steps with 1/\u221ad_k (1 too early to "
                      "tell), 0 without<");
    free(svg);
}
END_TEST

/* Of four rates three have room. Only the last trains; the third is the one left out. */
START_TEST(a_rate_that_trains_is_drawn_and_what_is_not_is_named) {
    if (!have_gnuplot()) return;
    char text[2048];
    size_t used = (size_t)snprintf(
        text, sizeof text,
        "d_k,scale,optimizer,lr,step,seeds,ratio_median,ratio_q1,ratio_q3,steps\n");
    for (int lr = 1; lr <= 4; lr++)
        for (int d_k = 4; d_k <= 32; d_k *= 2)
            used += (size_t)snprintf(text + used, sizeof text - used,
                                     "%d,sqrt,sgd,%d,0,1,2,2,2,2\n%d,sqrt,sgd,%d,1,1,%s,%s,%s,2\n",
                                     d_k, lr, d_k, lr, lr == 4 ? "0.1" : "1", lr == 4 ? "0.1" : "1",
                                     lr == 4 ? "0.1" : "1");
    write_text(SCRATCH "fig_bands.csv", text);
    char *svg = drawn("stall_loss", "fig_bands.csv");
    assert_holds(svg, "not drawn: lr 3; not drawn: d_k 8<");
    assert_holds(svg, ">lr 4, d_k = 32<");
    free(svg);
}
END_TEST

static void assert_draw_refuses(const char *arguments, int status, const char *part) {
    char command[512];
    (void)snprintf(command, sizeof command, "%s 2>" SCRATCH "refused.txt", arguments);
    ck_assert_int_eq(shell(command), status);
    char *said = read_whole(SCRATCH "refused.txt");
    assert_holds(said, part);
    ck_assert_ptr_eq(strchr(said, '\n'), said + strlen(said) - 1);
    free(said);
}

static const char EARLY_MAP[] =
    "optimizer,scale,target,target_gain,batch,tokens,d_model,d_v,d_k,sigma0,kappa,seed,lr,gain,"
    "steps,verdict,state,steps_to_0.1\n"
    "sgd,none,soft,1,32,16,32,32,8,2.8,0.5,0,1,1,300,early,alike,\n";

START_TEST(what_cannot_be_drawn_is_refused_in_one_line) {
    assert_draw_refuses("scripts/draw no-such a.csv a.svg", 2,
                        "no figure no-such; there are controls gradcheck_steps");
    assert_draw_refuses("scripts/draw stall_loss", 2, "usage:");
    assert_draw_refuses("scripts/plots", 2, "usage:");
    if (!have_gnuplot()) return;
    write_text(SCRATCH "fig_cut.csv.partial", "");
    assert_draw_refuses("scripts/plots " SCRATCH "fig_cut", 1,
                        "fig_cut.csv.partial: the run did not end");
    write_text(SCRATCH "fig_foreign.csv", "tensor,head,verdict\n");
    assert_draw_refuses("scripts/plots " SCRATCH "fig_foreign", 1, "compares gradients from files");
    write_text(SCRATCH "fig_lr.csv", EARLY_MAP);
    assert_draw_refuses("scripts/draw map_kappa " SCRATCH "fig_lr.csv " SCRATCH "a.svg", 2,
                        "is a map over rates");
}
END_TEST

static void assert_plotted(const char *stem, const char *figure) {
    char command[512];
    (void)snprintf(command, sizeof command, "scripts/plots " SCRATCH "%s >" SCRATCH "plotted.txt",
                   stem);
    ck_assert_int_eq(shell(command), 0);
    char *said = read_whole(SCRATCH "plotted.txt");
    assert_holds(said, figure);
    free(said);
}

START_TEST(a_map_that_is_too_early_says_so_and_its_figure_has_its_name) {
    if (!have_gnuplot()) return;
    write_text(SCRATCH "fig_lr.csv", EARLY_MAP);
    char *svg = drawn("map_window", "fig_lr.csv");
    assert_holds(svg, ">too early</text>");
    free(svg);
    assert_plotted("fig_lr", SCRATCH "fig_lr_window.svg\n");
    write_text(SCRATCH "window.csv", EARLY_MAP);
    assert_plotted("window", SCRATCH "window.svg\n");
}
END_TEST

START_TEST(a_figure_of_precision_is_of_its_own_file) {
    if (!have_gnuplot()) return;
    (void)run_well("precision --d-k 8,16 --seed 0 --quiet --output " SCRATCH "fig_low.csv");
    assert_plotted("fig_low", SCRATCH "fig_low_precision.svg\n");
}
END_TEST

/* By hand: |dL/dWq| 1 to 4, per entry 1 to 0.5, the median row 1 to 0.01, the step 1 to 1.1; and at
 * the end ratio 5, after one scalar 0.5, entropy 0.1 beside the teacher's 2. */
START_TEST(gradients_and_scalar_are_said_as_they_are) {
    if (!have_gnuplot()) return;
    write_text(SCRATCH "fig_bands.csv",
               "d_k,scale,optimizer,lr,step,seeds,"
               "grad_wq_median,grad_wq_q1,grad_wq_q3,grad_wq_rms_median,grad_wq_rms_q1,grad_wq_rms_"
               "q3,row_grad_median_median,row_grad_median_q1,row_grad_median_q3,logit_step_median,"
               "logit_step_q1,logit_step_q3,ratio_median,ratio_q1,ratio_q3,ratio_rescaled_median,"
               "ratio_rescaled_q1,ratio_rescaled_q3,entropy_mean_median,entropy_mean_q1,entropy_"
               "mean_q3,cos_m_median,cos_m_q1,cos_m_q3,steps\n"
               "8,none,sgd,1,0,1,1,1,1,1,1,1,1,1,1,1,1,1,9,9,9,1,1,1,2,2,2,0,0,0,2\n"
               "64,none,sgd,1,0,1,4,4,4,0.5,0.5,0.5,0.01,0.01,0.01,1.1,1.1,1.1,9,9,9,1,1,1,2,2,2,0,"
               "0,0,2\n"
               "64,none,sgd,1,1,1,4,4,4,0.5,0.5,0.5,0.01,0.01,0.01,1.1,1.1,1.1,5,5,5,0.5,0.5,0.5,"
               "0.1,0.1,0.1,0.8,0.8,0.8,2\n");
    write_text(SCRATCH "fig.csv", "d_k,step,entropy_teacher\n8,1,7\n64,0,9\n64,1,1.5\n64,1,2.5\n");
    char *svg = drawn("stall_signal", "fig_bands.csv");
    assert_holds(svg, "|dL/dWq| grows 4-fold, per entry it falls 2-fold; the step in logits "
                      "hardly changes</title>");
    assert_holds(svg, ">up 4.0-fold</text>");
    assert_holds(svg, ">down 100-fold</text>");
    free(svg);
    svg = drawn("stall_frozen", "fig_bands.csv");
    assert_holds(svg,
                 "direction learned to a cosine of 0.8, sharpness not: one scalar takes ratio 5 to "
                 "0.5</title>");
    assert_holds(svg, ">teacher: 2</text>");
    free(svg);
}
END_TEST

START_TEST(progress_names_the_last_run_and_stays_within_the_width) {
    char line[PROGRESS_WIDTH + 1];
    progress p;
    ck_assert(unsetenv("COLUMNS") == 0);
    progress_start(&p, 70, 100, true);
    progress_advance(&p, 60, 20);
    progress_line(&p, 10, line);
    ck_assert_str_eq(line, "0 of 70 runs, 0:40 left, 6 steps/s");
    progress_item(&p, "d_k %d none seed 3: ratio %.2g", 512, 7.4);
    progress_line(&p, 20, line);
    ck_assert_str_eq(line, "1 of 70 runs, 1:20 left; d_k 512 none seed 3: ratio 7.4");
    progress_item(&p, "%0100d", 1);
    progress_line(&p, 20, line);
    ck_assert_int_eq((int)strlen(line), PROGRESS_WIDTH);
    ck_assert(setenv("COLUMNS", "40", 1) == 0);
    progress_line(&p, 20, line);
    ck_assert_int_eq((int)strlen(line), 39);
    ck_assert(unsetenv("COLUMNS") == 0);
}
END_TEST

Suite *figures_suite(void) {
    const TTest *const tests[] = {an_svg_has_its_heading_as_title_and_description,
                                  a_ratio_of_zero_stands_on_a_marked_floor,
                                  each_rate_has_a_panel_and_those_left_out_are_named,
                                  rates_with_early_runs_are_no_failures,
                                  a_rate_that_trains_is_drawn_and_what_is_not_is_named,
                                  what_cannot_be_drawn_is_refused_in_one_line,
                                  a_map_that_is_too_early_says_so_and_its_figure_has_its_name,
                                  a_figure_of_precision_is_of_its_own_file,
                                  gradients_and_scalar_are_said_as_they_are,
                                  progress_names_the_last_run_and_stays_within_the_width};
    return suite_of("figures", tests, LENGTH(tests), 60);
}
