/* status.c: names and sentences of the status codes, from the one list in base.h. */
#include <isobit/base.h>

typedef struct status_row {
  const char *name, *sentence;
} status_row;

static const status_row rows[] = {
#define ROW(name_, value_, sentence_) [value_] = {#name_, sentence_},
    ISO_STATUS_LIST(ROW)
#undef ROW
};

static const status_row *row_of(iso_status status) {
  static const status_row unknown = {"UNKNOWN", "not a status code of this library"};
  size_t i = (size_t)status;
  return i < sizeof rows / sizeof rows[0] ? &rows[i] : &unknown;
}

const char *iso_status_name(iso_status status) { return row_of(status)->name; }
const char *iso_status_sentence(iso_status status) { return row_of(status)->sentence; }

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
const char *iso_version(void) {
  return TEXT(ISO_VERSION_MAJOR) "." TEXT(ISO_VERSION_MINOR) "." TEXT(ISO_VERSION_PATCH);
}
