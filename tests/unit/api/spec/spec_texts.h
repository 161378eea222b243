/* spec_texts.h: the text of a job around the part that a test varies. */
#ifndef EP_TESTS_API_SPEC_TEXTS_H
#define EP_TESTS_API_SPEC_TEXTS_H

#define XOR "\"data\":{\"generator\":\"xor\"}"
#define MODEL "\"model\":{\"layers\":[{\"type\":\"linear\",\"out_features\":1}]}"
#define REST "\"loss\":\"mse\",\"epochs\":10"
/* A whole job but for that part. */
#define WITH(more) "{" XOR "," MODEL "," REST "," more "}"
#define WITH_DATA(data) "{\"data\":" data "," MODEL "," REST "}"
#define WITH_MODEL(more) \
  "{" XOR ",\"model\":{\"layers\":[{\"type\":\"linear\",\"out_features\":1}]," more "}," REST "}"
#define WITH_LOSS(loss) "{" XOR "," MODEL ",\"epochs\":1,\"loss\":" loss "}"
#define CONV(more) WITH_LAYERS("[{\"type\":\"conv2d\",\"out_channels\":4," more "}]")
#define WITH_LAYERS(layers) "{" XOR ",\"model\":{\"layers\":" layers "}," REST "}"
/* Three layers. */
#define PARALLEL(parallel)                                                                        \
  "{" XOR ",\"model\":{\"layers\":[{\"type\":\"linear\",\"out_features\":4},{\"type\":\"relu\"}," \
  "{\"type\":\"linear\",\"out_features\":1}]}," REST ",\"parallel\":" parallel "}"

#endif
