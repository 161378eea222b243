# cmake -DSOURCE=file -DOUTPUT=file.c -DNAME=SYMBOL -P embed.cmake: a file as an array of bytes.
file(READ "${SOURCE}" hex HEX)
string(REGEX MATCHALL "................................|..+" rows "${hex}")
set(body "")
foreach(row IN LISTS rows)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${row}")
  string(APPEND body "${bytes}\n")
endforeach()
string(LENGTH "${hex}" digits)
math(EXPR count "${digits} / 2")
file(WRITE "${OUTPUT}"
     "/* Made from ${NAME}'s source at build time. */\n#include \"server/contract.h\"\n\n"
     "const unsigned char ${NAME}[] = {\n${body}0};\nconst unsigned long ${NAME}_BYTES = ${count};\n")
