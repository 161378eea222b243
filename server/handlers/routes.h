/* routes.h: the one table of routes. A new route is a row in routes.c, a declaration in handlers.h
 * and its call in the file of its resource. */
#ifndef EP_SERVER_HANDLERS_ROUTES_H
#define EP_SERVER_HANDLERS_ROUTES_H

#include "server/http/routes.h"

extern const ep_routes EP_ROUTES;

#endif
