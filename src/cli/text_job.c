/* text_job.c: the options of a text job, and its trainer. */
#include <limits.h>
#include <stdio.h>
#include <unistd.h>
#include "cli.h"

iso_text_options text_job = {0};
static int64_t bucket_batches, pad_multiple;
const option text_option_list[] = {
    {"--data", OPTION_TEXT, &text_job.data, "FILE", "csv, tsv or jsonl file of texts and labels, plain or .gz (needed)",
     0},
    {"--test", OPTION_TEXT, &text_job.test, "FILE", "likewise, for the evaluation [a tenth of each class of --data]",
     0},
    {"--text-column", OPTION_TEXT, &text_job.text_column, "NAME",
     "name, or number from 1 of files without header [text]", 0},
    {"--label-column", OPTION_TEXT, &text_job.label_column, "NAME",
     "likewise [label, category, intent or class; of a tsv without header the first]", 0},
    {"--format", OPTION_TEXT, &text_job.format, "NAME", "csv, tsv or jsonl [by the file's name]", 0},
    {"--held-out", OPTION_NUMBER, &text_job.held_out, "X", "share of --data for the evaluation without --test [0.1]",
     0},
    {"--model", OPTION_TEXT, &text_job.model, "NAME",
     "bert, textclassifier, textcnn or lstm [bert with --weights, else textclassifier]", 0},
    {"--weights", OPTION_TEXT, &text_job.weights, "DIR",
     "Hugging Face's folder of a pretrained bert: config.json, model.safetensors and its tokenizer", 0},
    {"--vocab", OPTION_TEXT, &text_job.vocabulary, "FILE",
     "vocab.txt, tokenizer.json or a folder with one [of --weights, else the training texts' words]", 0},
    {"--min-count", OPTION_COUNT, &text_job.min_count, "N", "of the training texts' words: rarer ones are unknown [2]",
     1},
    {"--max-length", OPTION_COUNT, &text_job.max_length, "N", "tokens of a text [bert: its positions, else no limit]",
     1},
    {"--truncate", OPTION_FLAG, &text_job.truncate, NULL, "cut longer texts at their end [they are an error]", 0},
    {"--width", OPTION_COUNT, &text_job.width, "N", "of models without --weights [128]", 1},
    {"--dropout", OPTION_NUMBER, &text_job.dropout, "X", "negative: none [bert: its config's, textcnn and lstm 0.1]",
     0},
    {"--label-smoothing", OPTION_NUMBER, &text_job.label_smoothing, "X", "of the training loss [0]", 0},
    {"--batch-size", OPTION_COUNT, &text_job.batch_size, "N", "texts a step [bert 16, else 32]", 1},
    {"--bucket", OPTION_COUNT, &bucket_batches, "N", "batches whose texts are sorted by length together [50]", 1},
    {"--pad-multiple", OPTION_COUNT, &pad_multiple, "N", "lengths are padded to a multiple of it [8]", 1},
    {"--optimizer", OPTION_TEXT, &text_job.optimizer, "NAME",
     "sgd, adam, adamw, rmsprop, adagrad, adadelta, adamax, nadam or radam [adamw]", 0},
    {"--lr", OPTION_NUMBER, &text_job.lr, "X",
     "learning rate [bert 1e-4, textclassifier 1e-2, lstm 2e-3, textcnn 1e-3]", 0},
    {"--momentum", OPTION_NUMBER, &text_job.momentum, "X", "of sgd; negative: none [0.9]", 0},
    {"--weight-decay", OPTION_NUMBER, &text_job.weight_decay, "X",
     "of matrices, not of biases and normalisations; negative: none [0.01]", 0},
    {"--decay-all", OPTION_FLAG, &text_job.decay_all, NULL, "weight decay of biases and normalisations, too", 0},
    {"--nesterov", OPTION_FLAG, &text_job.nesterov, NULL, "Nesterov momentum", 0},
    {"--schedule", OPTION_TEXT, &text_job.schedule, "NAME", "constant, step, cosine or linear, over all steps [linear]",
     0},
    {"--warmup", OPTION_NUMBER, &text_job.warmup_share, "X",
     "share of all steps for linear warm-up; negative: none [bert 0.1, else none]", 0},
    {"--clip-norm", OPTION_NUMBER, &text_job.clip_norm, "X",
     "clip gradients to this global norm; negative: none [bert and lstm 1, else none]", 0},
    {"--capture", OPTION_TEXT, &text_job.capture, "auto|off",
     "on a CUDA device: record steps once and replay them, or run each anew; never changes a bit [auto]", 0},
    {"--precision", OPTION_TEXT, &text_job.precision, "f32|bf16|f16",
     "of the forward pass, by operator as 'isobit autocast' lists; weights stay f32; f16 scales the loss [f32]", 0},
    {"--autocast", OPTION_TEXT, &text_job.autocast, "OP=KIND,...",
     "changes to that list: low, f32, widest or as_is [none]", 0},
    {"--workers", OPTION_COUNT, &job.workers, "N", "loader threads; never change a bit [0]", 0},
    {0}};

static int to_int(int64_t n) { return n > INT_MAX ? INT_MAX : (int)n; }

iso_trainer *text_trainer(iso_context *ctx) {
  text_job.n_workers = to_int(job.workers), text_job.checkpointing = job.checkpointing;
  text_job.pass_leaves = to_int(job.pass_leaves);
  text_job.bucket_batches = to_int(bucket_batches), text_job.pad_multiple = to_int(pad_multiple);
  text_job.n_steps = (uint64_t)job.steps, text_job.n_epochs = (uint64_t)job.epochs;
  return iso_trainer_new_text(ctx, &text_job);
}

void text_relocate(const char *folder) {
  static char path[4][8192];
  const char **const paths[4] = {&text_job.data, &text_job.test, &text_job.weights, &text_job.vocabulary};
  for (int i = 0; i < 4; i++) {
    if (!*paths[i] || **paths[i] == '/') continue;
    snprintf(path[i], sizeof path[i], "%s/%s", folder, *paths[i]);
    if (access(path[i], R_OK) == 0) *paths[i] = path[i];
  }
}

const char *text_model_name(void) {
  return text_job.model ? text_job.model : text_job.weights ? "bert" : "textclassifier";
}
