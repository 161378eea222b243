# cmake -DSOURCE=file -DOUTPUT=file.c -DNAME=symbol -P embed.cmake: a text as an array that ends in 0.
file(READ "${SOURCE}" hex HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "((0x..,){16})" "\\1\n" bytes "${bytes}")
file(WRITE "${OUTPUT}" "/* Made from ${NAME}'s source at build time. */\n"
                       "#include \"clients/epochctl/examples/examples.h\"\n\n"
                       "const unsigned char ${NAME}[] = {\n${bytes}0};\n")
