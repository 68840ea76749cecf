/* jpeg.c: JPEG (ITU-T T.81) by libjpeg-turbo, with the slow integer DCT and "fancy" upsampling: both are defined in
 * integers, and its vector code computes the same as its C, so that samples depend on the file alone.
 *
 * Gray stays gray, YCbCr and RGB give RGB; CMYK, as Adobe stores it (inverted), gives R = round(C·K/255). EXIF
 * orientation and colour profiles are ignored. Lossless and arithmetic-coded files are refused. */
#include <stdio.h> /* jpeglib.h needs its FILE */

#include <stddef.h>
#include <jerror.h>
#include <jpeglib.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include "io/image.h"

/* Every 8×8 block of some component takes a bit at least, and that component may have a quarter of the rows. */
enum { PIXELS_A_BYTE = 8 * 64 * 4, MAX_SCANS = 200 };

typedef struct job {
  struct jpeg_error_mgr errors; /* first: cinfo.err points here */
  jmp_buf jump;
  struct jpeg_decompress_struct cinfo;
  struct jpeg_compress_struct out_info;
  struct jpeg_progress_mgr progress;
  const uint8_t *bytes;
  size_t n_bytes;
  const iso__image_info *form;
  iso__image_info *probed;
  uint8_t *pixels;
  const uint8_t *source; /* of an encoder */
  int quality;
  unsigned char *out;
  unsigned long n_out;
  iso__image_fault *fault;
} job;

static _Noreturn void on_error(j_common_ptr cinfo) {
  job *j = (job *)cinfo->err;
  char text[JMSG_LENGTH_MAX];
  cinfo->err->format_message(cinfo, text);
  const int code = cinfo->err->msg_code;
  const bool unsupported = code == JERR_ARITH_NOTIMPL || code == JERR_SOF_UNSUPPORTED || code == JERR_BAD_PRECISION ||
                           code == JERR_CONVERSION_NOTIMPL || code == JERR_CCIR601_NOTIMPL;
  iso__image_refuse(j->fault,
                    code == JERR_OUT_OF_MEMORY ? ISO_OUT_OF_MEMORY
                    : unsupported              ? ISO_UNSUPPORTED
                                               : ISO_CORRUPT,
                    "JPEG: %.160s", text);
  longjmp(j->jump, 1);
}
/* Damage that the library would paint over is an error here; three oddities of harmless files are not. */
static void on_message(j_common_ptr cinfo, int level) {
  const int code = cinfo->err->msg_code;
  if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_ADOBE_XFORM && code != JWRN_JFIF_MAJOR) on_error(cinfo);
}
static void no_output(j_common_ptr cinfo) { (void)cinfo; }
/* A small file of very many scans of a large image takes hours. */
static void on_progress(j_common_ptr cinfo) {
  job *j = (job *)cinfo->err;
  if (j->cinfo.input_scan_number <= MAX_SCANS) return;
  iso__image_refuse(j->fault, ISO_CORRUPT, "JPEG: has more than %d scans", MAX_SCANS);
  longjmp(j->jump, 1);
}

static struct jpeg_error_mgr *errors_of(job *j) {
  jpeg_std_error(&j->errors);
  j->errors.error_exit = on_error;
  j->errors.emit_message = on_message;
  j->errors.output_message = no_output;
  return &j->errors;
}
static bool guarded(job *j, void (*work)(job *j)) {
  if (setjmp(j->jump)) return false;
  work(j);
  return true;
}

/* ---- reading ---- */

static void begin(job *j) {
  jpeg_create_decompress(&j->cinfo);
  j->progress.progress_monitor = on_progress;
  j->cinfo.progress = &j->progress;
  jpeg_mem_src(&j->cinfo, j->bytes, j->n_bytes);
  jpeg_read_header(&j->cinfo, TRUE);
}
static void probe(job *j) {
  begin(j);
  const bool gray = j->cinfo.jpeg_color_space == JCS_GRAYSCALE;
  *j->probed = (iso__image_info){
      .width = (int)j->cinfo.image_width, .height = (int)j->cinfo.image_height, .channels = gray ? 1 : 3};
  if (j->cinfo.arith_code) ERREXIT(&j->cinfo, JERR_ARITH_NOTIMPL);
}
static uint8_t product(int a, int b) { return (uint8_t)((a * b + 127) / 255); }
static void rgb_from_cmyk(const uint8_t *row, int width, bool inverted, uint8_t *to) {
  const int flip = inverted ? 0 : 255;
  for (int x = 0; x < width; x++)
    for (int c = 0; c < 3; c++) to[3 * x + c] = product(row[4 * x + c] ^ flip, row[4 * x + 3] ^ flip);
}
static void decode(job *j) {
  struct jpeg_decompress_struct *c = &j->cinfo;
  begin(j);
  const bool cmyk = c->jpeg_color_space == JCS_CMYK || c->jpeg_color_space == JCS_YCCK;
  c->out_color_space = cmyk ? JCS_CMYK : j->form->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  c->dct_method = JDCT_ISLOW;
  c->do_fancy_upsampling = TRUE;
  c->do_block_smoothing = FALSE;
  jpeg_start_decompress(c);
  if ((int)c->output_width != j->form->width || (int)c->output_height != j->form->height ||
      c->output_components != (cmyk ? 4 : j->form->channels))
    ERREXIT(c, JERR_BAD_STATE);
  const size_t row_bytes = (size_t)j->form->width * (size_t)j->form->channels;
  JSAMPARRAY wide =
      cmyk ? c->mem->alloc_sarray((j_common_ptr)c, JPOOL_IMAGE, (JDIMENSION)(4 * j->form->width), 1) : NULL;
  while (c->output_scanline < c->output_height) {
    uint8_t *to = j->pixels + c->output_scanline * row_bytes;
    jpeg_read_scanlines(c, cmyk ? wide : &to, 1);
    if (cmyk) rgb_from_cmyk(wide[0], j->form->width, c->saw_Adobe_marker, to);
  }
  jpeg_finish_decompress(c);
}

static bool read_with(job *j, void (*work)(job *j)) {
  j->cinfo.err = errors_of(j);
  const bool ok = guarded(j, work);
  jpeg_destroy_decompress(&j->cinfo);
  return ok;
}

bool iso__is_jpeg(const uint8_t *bytes, size_t n_bytes) {
  return n_bytes >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff;
}

bool iso__jpeg_probe(const uint8_t *bytes, size_t n_bytes, iso__image_info *info, iso__image_fault *fault) {
  job j = {.bytes = bytes, .n_bytes = n_bytes, .probed = info, .fault = fault};
  return read_with(&j, probe) && iso__image_check(info, n_bytes, PIXELS_A_BYTE, fault);
}
bool iso__jpeg_decode(const uint8_t *bytes, size_t n_bytes, const iso__image_info *info, uint8_t *pixels,
                      iso__image_fault *fault) {
  job j = {.bytes = bytes, .n_bytes = n_bytes, .form = info, .pixels = pixels, .fault = fault};
  return read_with(&j, decode);
}

/* ---- writing ---- */

static void encode(job *j) {
  struct jpeg_compress_struct *c = &j->out_info;
  jpeg_create_compress(c);
  jpeg_mem_dest(c, &j->out, &j->n_out); /* large enough: what it grew would be lost on failure */
  c->image_width = (JDIMENSION)j->form->width, c->image_height = (JDIMENSION)j->form->height;
  c->input_components = j->form->channels;
  c->in_color_space = j->form->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(c);
  jpeg_set_quality(c, j->quality, TRUE);
  c->dct_method = JDCT_ISLOW;
  jpeg_start_compress(c, TRUE);
  const size_t row_bytes = (size_t)j->form->width * (size_t)j->form->channels;
  while (c->next_scanline < c->image_height) {
    JSAMPROW row = (JSAMPROW)(uintptr_t)(j->source + c->next_scanline * row_bytes);
    jpeg_write_scanlines(c, &row, 1);
  }
  jpeg_finish_compress(c);
}

bool iso__jpeg_encode(const uint8_t *pixels, const iso__image_info *info, int quality, uint8_t **out, size_t *n_out,
                      iso__image_fault *fault) {
  job j = {.source = pixels, .form = info, .quality = quality, .fault = fault};
  j.out_info.err = errors_of(&j);
  /* Whole blocks of 16×16 pixels take at most 3 bytes a pixel with colours at half resolution. */
  j.n_out = (((size_t)info->width + 15) / 16) * (((size_t)info->height + 15) / 16) * 768 + 2048;
  j.out = malloc(j.n_out);
  const bool ok = j.out ? guarded(&j, encode) : iso__image_refuse(fault, ISO_OUT_OF_MEMORY, "no memory to encode");
  jpeg_destroy_compress(&j.out_info);
  if (!ok) free(j.out);
  *out = ok ? j.out : NULL, *n_out = ok ? j.n_out : 0;
  return ok;
}
