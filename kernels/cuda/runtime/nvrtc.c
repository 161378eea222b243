#include "kernels/cuda/runtime/nvrtc.h"

#include <dlfcn.h>
#include <nvrtc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/limits.h"
#include "kernels/cache/cache.h"
#include "kernels/cuda/runtime/sources.h"

/* --- NVRTC --------------------------------------------------------------------------------- */

typedef struct {
  nvrtcResult (*version)(int *, int *);
  nvrtcResult (*create)(nvrtcProgram *, const char *, const char *, int, const char *const *,
                        const char *const *);
  nvrtcResult (*compile)(nvrtcProgram, int, const char *const *);
  nvrtcResult (*log_size)(nvrtcProgram, size_t *);
  nvrtcResult (*log)(nvrtcProgram, char *);
  nvrtcResult (*cubin_size)(nvrtcProgram, size_t *);
  nvrtcResult (*cubin)(nvrtcProgram, char *);
  nvrtcResult (*destroy)(nvrtcProgram *);
  const char *(*error_text)(nvrtcResult);
} nvrtc_calls;

static nvrtc_calls nvrtc;
static bool nvrtc_open;

/* dlsym gives an object's pointer where a function's is wanted. */
static bool find(void *library, const char *name, void *call, size_t bytes) {
  void *symbol = dlsym(library, name);
  memcpy(call, &symbol, bytes);
  return symbol != NULL;
}
#define FIND(library, slot, name) find(library, name, &nvrtc.slot, sizeof nvrtc.slot)

static void nvrtc_load(void) {
  char name[64];
  snprintf(name, sizeof name, "libnvrtc.so.%d", CUDART_VERSION / 1000);
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) library = dlopen("libnvrtc.so", RTLD_NOW | RTLD_LOCAL);
  nvrtc_open =
      library && FIND(library, version, "nvrtcVersion") &&
      FIND(library, create, "nvrtcCreateProgram") &&
      FIND(library, compile, "nvrtcCompileProgram") &&
      FIND(library, log_size, "nvrtcGetProgramLogSize") &&
      FIND(library, log, "nvrtcGetProgramLog") && FIND(library, cubin_size, "nvrtcGetCUBINSize") &&
      FIND(library, cubin, "nvrtcGetCUBIN") && FIND(library, destroy, "nvrtcDestroyProgram") &&
      FIND(library, error_text, "nvrtcGetErrorString");
}

bool ep_cuda_compiler_exists(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, nvrtc_load);
  return nvrtc_open;
}

/* The compiler's own words, when it has any. It refuses the options when the GPU is newer than it
 * is. */
static ep_status compile_failed(nvrtcProgram program, nvrtcResult result, ep_error *error) {
  const bool too_new = result == NVRTC_ERROR_INVALID_OPTION;
  size_t bytes = 0;
  char *log = NULL;
  if (nvrtc.log_size(program, &bytes) == NVRTC_SUCCESS && bytes > 1) log = calloc(bytes + 1, 1);
  if (log) nvrtc.log(program, log);
  ep_status status =
      ep_fail(error, too_new ? EP_UNSUPPORTED : EP_INTERNAL,
              "compiling a kernel failed: %s: %.300s", nvrtc.error_text(result), log ? log : "");
  free(log);
  return status;
}

static const char *source_text(const char *file) {
  for (int i = 0; i < EP_CUDA_SOURCES_COUNT; i++)
    if (strcmp(EP_CUDA_SOURCES[i].name, file) == 0) return EP_CUDA_SOURCES[i].text;
  return NULL;
}

enum { HEADERS_MAX = 96 };

static ep_status program_create(const char *file, const char *header, nvrtcProgram *out,
                                ep_error *error) {
  const char *names[HEADERS_MAX], *texts[HEADERS_MAX];
  int count = 0;
  for (int i = 0; i < EP_CUDA_SOURCES_COUNT && count < HEADERS_MAX - 1; i++) {
    names[count] = EP_CUDA_SOURCES[i].name;
    texts[count++] = EP_CUDA_SOURCES[i].text;
  }
  names[count] = "kernels/cuda/device/program.h";
  texts[count++] = header;
  nvrtcResult result = nvrtc.create(out, source_text(file), file, count, texts, names);
  if (result == NVRTC_SUCCESS) return EP_OK;
  return ep_fail(error, EP_NO_MEMORY, "preparing a kernel failed: %s", nvrtc.error_text(result));
}

enum { OPTIONS = 3, ARCHITECTURE_BYTES = 32 };

/* architecture: [ARCHITECTURE_BYTES], written; lent to the options. */
static void options_make(int capability, char *architecture, const char **options) {
  snprintf(architecture, ARCHITECTURE_BYTES, "--gpu-architecture=sm_%d", capability);
  options[0] = architecture;
  options[1] = "--std=c++17";
  options[2] = "--device-as-default-execution-space";
}

/* Of all that the code depends on. */
static ep_cache_key cubin_key(const char *file, const char *header, const char *const *options) {
  ep_cache_key key = ep_cache_key_start();
  int major = 0, minor = 0;
  char version[32];
  nvrtc.version(&major, &minor);
  snprintf(version, sizeof version, "%d.%d", major, minor);
  ep_cache_key_add(&key, version);
  for (int i = 0; i < OPTIONS; i++) ep_cache_key_add(&key, options[i]);
  for (int i = 0; i < EP_CUDA_SOURCES_COUNT; i++) ep_cache_key_add(&key, EP_CUDA_SOURCES[i].text);
  ep_cache_key_add(&key, file);
  ep_cache_key_add(&key, header);
  return key;
}

/* *cubin is the caller's to free. */
static ep_status cubin_make(const char *file, const char *header, const char *const *options,
                            char **cubin, size_t *bytes, ep_error *error) {
  nvrtcProgram program;
  ep_status status = program_create(file, header, &program, error);
  if (status != EP_OK) return status;
  nvrtcResult result = nvrtc.compile(program, OPTIONS, options);
  if (result != NVRTC_SUCCESS) status = compile_failed(program, result, error);
  if (status == EP_OK && nvrtc.cubin_size(program, bytes) != NVRTC_SUCCESS)
    status = ep_fail(error, EP_INTERNAL, "the compiler left no kernel");
  *cubin = status == EP_OK ? malloc(*bytes) : NULL;
  if (status == EP_OK && !*cubin) status = ep_fail(error, EP_NO_MEMORY, "no memory for a kernel");
  if (status == EP_OK) nvrtc.cubin(program, *cubin);
  nvrtc.destroy(&program);
  return status;
}

/* From the disk, or from the compiler. */
static ep_status cubin_get(int capability, const char *file, const char *header, char **cubin,
                           size_t *bytes, ep_error *error) {
  char architecture[ARCHITECTURE_BYTES];
  const char *options[OPTIONS];
  options_make(capability, architecture, options);
  ep_cache_key key = cubin_key(file, header, options);
  *cubin = ep_cache_read(&key, bytes);
  if (*cubin) return EP_OK;
  ep_status status = cubin_make(file, header, options, cubin, bytes, error);
  if (status == EP_OK) ep_cache_write(&key, *cubin, *bytes);
  return status;
}

/* --- what is loaded ------------------------------------------------------------------------ */

struct ep_cuda_compiled {
  ep_cuda_compiled *next;
  int device;
  char *file, *program; /* owned: what it is compiled of */
  int users;
  bool loading;          /* by its only user so far */
  cudaLibrary_t library; /* owned */
  cudaKernel_t kernel;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the list, not the loading */
static pthread_cond_t loading_ended = PTHREAD_COND_INITIALIZER;
static ep_cuda_compiled *compiled; /* who was asked for last comes first */

/* The list's pointer to it, or the last one, which is NULL. */
static ep_cuda_compiled **place_of(int device, const char *file, const char *program) {
  ep_cuda_compiled **at = &compiled;
  while (*at && ((*at)->device != device || strcmp((*at)->file, file) != 0 ||
                 strcmp((*at)->program, program) != 0))
    at = &(*at)->next;
  return at;
}

static void compiled_destroy(ep_cuda_compiled *self) {
  if (!self) return;
  if (self->library) cudaLibraryUnload(self->library);
  free(self->program);
  free(self->file);
  free(self);
}

/* Takes the program, also where it fails. */
static ep_cuda_compiled *compiled_create(int device, const char *file, char *program) {
  ep_cuda_compiled *self = calloc(1, sizeof *self);
  char *copy = strdup(file);
  if (!self || !copy) {
    free(copy);
    free(program);
    free(self);
    return NULL;
  }
  *self = (ep_cuda_compiled){.device = device, .file = copy, .program = program, .loading = true};
  return self;
}

/* Of which the caller is a user from now on, and which it loads, where that is left to do; NULL
 * where memory is short. Takes the program. */
static ep_cuda_compiled *compiled_take(int device, const char *file, char *program) {
  pthread_mutex_lock(&mutex);
  ep_cuda_compiled **at, *self;
  while (*(at = place_of(device, file, program)) && (*at)->loading)
    pthread_cond_wait(&loading_ended, &mutex); /* which may fail: the caller tries, then */
  if ((self = *at)) {
    *at = self->next;
    free(program);
  } else {
    self = compiled_create(device, file, program);
  }
  if (self) {
    self->users++;
    self->next = compiled;
    compiled = self;
  }
  pthread_mutex_unlock(&mutex);
  return self;
}

static void loading_end(ep_cuda_compiled *self, bool failed) {
  pthread_mutex_lock(&mutex);
  self->loading = false;
  if (failed) *place_of(self->device, self->file, self->program) = self->next;
  pthread_cond_broadcast(&loading_ended);
  pthread_mutex_unlock(&mutex);
  if (failed) compiled_destroy(self);
}

/* Takes out of the list what is too many: of what nobody uses, the one that was not asked for for
 * longest. With the mutex; NULL: nothing. */
static ep_cuda_compiled *surplus_take(void) {
  ep_cuda_compiled **last = NULL;
  int count = 0;
  for (ep_cuda_compiled **at = &compiled; *at; at = &(*at)->next, count++)
    if ((*at)->users == 0) last = at;
  if (!last || count <= EP_LIMIT_LOADED_KERNELS) return NULL;
  ep_cuda_compiled *taken = *last;
  *last = taken->next;
  return taken;
}

static ep_status kernel_load(const ep_backend *backend, const char *name, ep_cuda_compiled *self,
                             ep_error *error) {
  char *cubin = NULL;
  size_t bytes = 0;
  ep_status status =
      cubin_get(backend->gpu.capability, self->file, self->program, &cubin, &bytes, error);
  if (status != EP_OK) return status;
  cudaError_t code = cudaLibraryLoadData(&self->library, cubin, NULL, NULL, 0, NULL, NULL, 0);
  if (code != cudaSuccess) self->library = NULL;
  free(cubin);
  if (code == cudaSuccess) code = cudaLibraryGetKernel(&self->kernel, self->library, name);
  return code == cudaSuccess ? EP_OK : ep_cuda_fail(error, code, "loading a kernel");
}

ep_status ep_cuda_compile(const ep_backend *backend, const char *file, const char *name,
                          char *program, ep_cuda_compiled **out, ep_error *error) {
  *out = NULL;
  if (program && !ep_cuda_compiler_exists()) {
    free(program);
    return ep_fail(error, EP_UNSUPPORTED, "NVRTC, which compiles kernels, is not installed");
  }
  ep_cuda_compiled *self = program ? compiled_take(backend->device, file, program) : NULL;
  if (!self) return ep_fail(error, EP_NO_MEMORY, "no memory for a kernel");
  if (self->loading) {
    ep_status status = kernel_load(backend, name, self, error);
    loading_end(self, status != EP_OK);
    if (status != EP_OK) return status;
  }
  *out = self;
  return EP_OK;
}

cudaKernel_t ep_cuda_compiled_kernel(const ep_cuda_compiled *self) {
  return self->kernel;
}

void ep_cuda_compiled_release(ep_cuda_compiled *self) {
  if (!self) return;
  pthread_mutex_lock(&mutex);
  self->users--;
  ep_cuda_compiled *taken = surplus_take();
  pthread_mutex_unlock(&mutex);
  compiled_destroy(taken); /* unloading may wait for the device, the mutex need not */
}

/* --- compiled ahead -------------------------------------------------------------------------- */

typedef struct {
  int capability;
  char *file, *program; /* owned */
} ahead_program;

static pthread_mutex_t ahead_mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static ahead_program ahead[EP_CUDA_AHEAD_MAX];                  /* the first is being compiled */
static int ahead_count;
static ep_cache_key lost[EP_CUDA_AHEAD_MAX]; /* of the last that failed, or could not be kept */
static int lost_count;

static ep_cache_key key_of(int capability, const char *file, const char *program) {
  char architecture[ARCHITECTURE_BYTES];
  const char *options[OPTIONS];
  options_make(capability, architecture, options);
  return cubin_key(file, program, options);
}

static bool is_on_disk(const ep_cache_key *key) {
  size_t bytes = 0;
  char *kept = ep_cache_read(key, &bytes);
  free(kept);
  return kept != NULL;
}

static bool is_lost(const ep_cache_key *key) {
  bool found = false;
  pthread_mutex_lock(&ahead_mutex);
  for (int i = 0; i < lost_count && i < EP_CUDA_AHEAD_MAX; i++)
    found = found || memcmp(&lost[i], key, sizeof *key) == 0;
  pthread_mutex_unlock(&ahead_mutex);
  return found;
}

/* Takes the program at `at` out of the list. */
static void ahead_drop(int at) {
  free(ahead[at].file);
  free(ahead[at].program);
  ahead_count--;
  memmove(&ahead[at], &ahead[at + 1], (size_t)(ahead_count - at) * sizeof *ahead);
}

/* The thread: until nothing is left. A failure is told to the one that compiles the program again
 * when it needs it. */
static void *ahead_run(void *none) {
  const int nice = 10;
  setpriority(PRIO_PROCESS, (id_t)gettid(), nice);
  pthread_mutex_lock(&ahead_mutex);
  while (ahead_count > 0) {
    const ahead_program of = ahead[0]; /* nobody else drops the first */
    char *cubin = NULL;
    size_t bytes = 0;
    pthread_mutex_unlock(&ahead_mutex);
    cubin_get(of.capability, of.file, of.program, &cubin, &bytes, NULL);
    free(cubin);
    const ep_cache_key key = key_of(of.capability, of.file, of.program);
    const bool kept = is_on_disk(&key);
    pthread_mutex_lock(&ahead_mutex);
    if (!kept) lost[lost_count++ % EP_CUDA_AHEAD_MAX] = key;
    ahead_drop(0);
  }
  pthread_mutex_unlock(&ahead_mutex);
  return none;
}

/* Whether it is among those that wait. With the mutex. */
static bool ahead_holds(const ahead_program *wanted) {
  for (int i = 0; i < ahead_count; i++)
    if (ahead[i].capability == wanted->capability && strcmp(ahead[i].file, wanted->file) == 0 &&
        strcmp(ahead[i].program, wanted->program) == 0)
      return true;
  return false;
}

static bool ahead_start(void) {
  pthread_t thread;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  const bool started = pthread_create(&thread, &attributes, ahead_run, NULL) == 0;
  pthread_attr_destroy(&attributes);
  return started;
}

/* Takes what it is of. */
static void ahead_add(const ahead_program *wanted) {
  pthread_mutex_lock(&ahead_mutex);
  const bool known = ahead_holds(wanted);
  if (!known && ahead_count == EP_CUDA_AHEAD_MAX) ahead_drop(1);
  if (!known) ahead[ahead_count++] = *wanted;
  if (!known && ahead_count == 1 && !ahead_start()) ahead_drop(0);
  pthread_mutex_unlock(&ahead_mutex);
  if (!known) return;
  free(wanted->file);
  free(wanted->program);
}

static bool is_loaded(int device, const char *file, const char *program) {
  pthread_mutex_lock(&mutex);
  const ep_cuda_compiled *found = *place_of(device, file, program);
  const bool loaded = found && !found->loading;
  pthread_mutex_unlock(&mutex);
  return loaded;
}

bool ep_cuda_compile_ahead(const ep_backend *backend, const char *file, char *program) {
  ahead_program wanted = {.capability = backend->gpu.capability, .program = program};
  if (!program || !ep_cuda_compiler_exists() || is_loaded(backend->device, file, program)) {
    free(program);
    return true;
  }
  const ep_cache_key key = key_of(wanted.capability, file, program);
  const bool done = is_on_disk(&key) || is_lost(&key);
  if (!done) wanted.file = strdup(file);
  if (wanted.file)
    ahead_add(&wanted);
  else
    free(program);
  return done;
}
