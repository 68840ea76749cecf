/* scaler.h (internal): what jobs need of a gradient scaler beside its public calls. */
#ifndef ISO_OPTIM_SCALER_H
#define ISO_OPTIM_SCALER_H
#include <isobit/precision.h>

/* After the state was loaded: losses, also those of recorded captures, are multiplied by its scale from now on. */
iso_status iso__grad_scaler_settle(iso_grad_scaler *s);
#endif
