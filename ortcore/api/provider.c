/* What this build can run on. */
#include <ortcore/provider/provider.h>

const char *ortc_available_provider(size_t index) { return provider_available(index); }
