/* recipe_option.h: optimizer, learning rates and all that belongs to them on the command line, the
 * same for every subcommand that trains.
 */
#ifndef TRAINING_RECIPE_OPTION_H
#define TRAINING_RECIPE_OPTION_H

#include "common/options.h"
#include "training/sweep.h"

/* Rows of a subcommand's table of options: how rates and temperature change in time, ... */
#define SCHEDULE_OPTIONS                                                                           \
    {"schedule", "LIST", "", "STEP:FACTOR,...: from STEP on the rates are times FACTOR"},          \
        {"warm-up", "N", "", "the rates rise over N steps: min(1, (step + 1) / N)"}, {             \
        "learn-temperature", "LR", "",                                                             \
            "logits times exp(tau), tau learned at rate LR; LR@STEP: from STEP on"                 \
    }

/* ... and all. */
#define RECIPE_OPTIONS                                                                             \
    {"optimizer", "LIST", "sgd", "optimizers, each NAME or NAME:LR; see below"},                   \
        {"lr", "LIST", "", "learning rates of optimizers without one (default: their own)"},       \
        {"momentum", "B", "0.9", "of momentum"}, {"beta1", "B", "0.9", "of adam, adamw"},          \
        {"beta2", "B", "0.999", "of adam, adamw"}, {"eps", "E", "1e-8", "of adam, adamw"},         \
        {"weight-decay", "W", "", "L2 in the gradient, of adamw decoupled (default: its own)"},    \
        {"clip", "C", "", "clip the gradients of Wq, Wk by their global norm"}, SCHEDULE_OPTIONS

/* The optimizers of --optimizer with their rates into out[LIST_MOST], and the rest into the recipe;
 * false, and one line was printed, if any is wrong or no optimizer asked for uses it. */
bool recipe_option(const options *o, optimizer_rate *out, int *count, recipe *r);

/* SCHEDULE_OPTIONS alone into the recipe, whose other members stay; likewise. */
bool schedule_option(const options *o, recipe *r);

/* What --optimizer and --scale take beside numbers; for a command_spec. */
extern const option_words RECIPE_WORDS[];

/* The list of optimizers, for --help. */
void recipe_option_help(FILE *to);

#endif
