# cmake -DFILES="SYMBOL=file;…" -DHEADER=name.h -DOUTPUT=file.c -P embed.cmake: each file as an array of
# bytes, SYMBOL, and its length, SYMBOL_BYTES; the header declares them. Included by a script, with
# the same variables, it does the same.
file(WRITE "${OUTPUT}" "/* Made at build time. */\n#include \"${HEADER}\"\n")
foreach(entry IN LISTS FILES)
  string(REGEX MATCH "^([A-Z0-9_]+)=(.+)$" matched "${entry}")
  if(NOT matched)
    message(FATAL_ERROR "\"${entry}\" is not SYMBOL=file")
  endif()
  set(symbol ${CMAKE_MATCH_1})
  file(READ "${CMAKE_MATCH_2}" hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR count "${digits} / 2")
  string(REGEX MATCHALL "................................|..+" rows "${hex}")
  set(body "")
  foreach(row IN LISTS rows)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${row}")
    string(APPEND body "${bytes}\n")
  endforeach()
  file(APPEND "${OUTPUT}" "\nconst unsigned char ${symbol}[] = {\n${body}0};\n"
                          "const unsigned long ${symbol}_BYTES = ${count};\n")
endforeach()
