/* contract.h: api/openapi.json, built into the program byte for byte. */
#ifndef EP_SERVER_HANDLERS_CONTRACT_H
#define EP_SERVER_HANDLERS_CONTRACT_H

extern const unsigned char EP_CONTRACT[];
extern const unsigned long EP_CONTRACT_BYTES;

#endif
