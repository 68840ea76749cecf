/* texts.h: what predict, embed and export share: the model, the texts it is given, and where results go. */
#ifndef ISO_CLI_TEXTS_H
#define ISO_CLI_TEXTS_H
#include "cli.h"

typedef struct texts_options {
  const char *checkpoint, *weights, *data, *format, *text_column, *text, *out, *precision;
  int64_t batch_size, max_length;
  bool truncate;
} texts_options;
extern texts_options texts;
extern const option texts_model_options[]; /* --checkpoint, --weights */
extern const option texts_input_options[]; /* --data …, --batch-size … */

/* −1, or an exit code after saying what is missing. */
int texts_check(void);
/* A predictor by the options; NULL with the context's error set. */
iso_text_predictor *texts_predictor(iso_context *ctx, bool embeds);

/* The texts of --data, or the one of --text. */
typedef struct text_list {
  int64_t n;
  iso_text *text;
  iso_text_dataset *set; /* they lie in it; NULL: --text */
} text_list;
/* false with the context's error set. */
bool texts_read(iso_context *ctx, text_list *list);
void texts_release(text_list *list);
/* Runs the predictor over all, with a bar. NULL with the context's error set, or after Ctrl-C; free() it. */
float *texts_run(iso_context *ctx, iso_text_predictor *p, const text_list *list, const char *label);
/* A text as a field of a TSV: tabs and line ends become blanks. */
void texts_print_field(FILE *f, iso_text text);
/* A text as JSON; bytes that are no UTF-8 become U+FFFD. */
json_t *texts_json(iso_text text);
/* --out ends in this. */
bool texts_out_is(const char *ending);
/* eval_text.c */
int eval_text(const char *checkpoint, int64_t limit);
/* Opens --out, or takes stdout. 0 or an exit code. */
int texts_open_out(output *o);
int texts_close_out(output *o);
#endif
