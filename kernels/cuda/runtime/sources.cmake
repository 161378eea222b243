# cmake -DROOT=… -DOUTPUT=sources.c -DFILES=a;b -P sources.cmake: texts as C strings, each under the
# name that #include has for it.
set(body "#include \"kernels/cuda/runtime/sources.h\"\n\nconst ep_cuda_source EP_CUDA_SOURCES[] = {\n")
set(count 0)
foreach(file IN LISTS FILES)
  file(READ "${ROOT}/${file}" text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
  string(REGEX REPLACE "^kernels/cuda/device/std/" "" name "${file}")
  string(APPEND body "  {\"${name}\",\n    \"${text}\"},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(WRITE "${OUTPUT}" "${body}};\nconst int EP_CUDA_SOURCES_COUNT = ${count};\n")
