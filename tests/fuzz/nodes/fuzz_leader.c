/* Any bytes as what a node sends to the leader of its training, within a segment; the first byte
 * says of which program. Replies go out at once. What was taken is no more than was asked for. */
#include "tests/fuzz/nodes/nodes.h"

typedef struct {
  ep_ranks ranks;
  ep_rank_exchange exchange;
  ep_node_link link;
  int ends[2];
} leading;

/* Pieces for the node, as many as its first neighbour here would give it. */
static void pieces_give(leading *l) {
  static const ep_real zeros[1 << 10];
  for (int i = 0; i < l->ranks.count; i++) {
    ep_rank *rank = &l->ranks.rank[i];
    const bool neighbours = rank->stage > 0 && !rank->here && rank[-1].here;
    for (int n = 0; neighbours && n < 2; n++)
      ep_exchange_hand(rank, EP_NODE_FORWARD, n, zeros, ep_rank_in_features(rank));
  }
}

static void mail_answer(leading *l) {
  for (int i = 0; i < l->ranks.count; i++) {
    ep_rank *rank = &l->ranks.rank[i];
    const ep_mail mail = rank->here ? EP_MAIL_NONE : atomic_exchange(&rank->mail, EP_MAIL_NONE);
    if (mail == EP_MAIL_OFFER) {
      FUZZ_HOLDS(rank->offered_count >= 1 && rank->offered_count <= EP_RANKS_OFFER);
      FUZZ_HOLDS(l->ranks.replicas > 1 && rank->step < FUZZ_STEPS);
      ep_exchange_reply_sum(rank);
    } else if (mail == EP_MAIL_GRADIENT) {
      FUZZ_HOLDS(rank->step < FUZZ_STEPS && rank->course.errors >= 0);
      ep_exchange_reply_totals(rank, 0);
    } else if (mail == EP_MAIL_DONE) {
      FUZZ_HOLDS(rank->step == FUZZ_STEPS && rank->stated == (rank->replica == 0));
      FUZZ_HOLDS(atomic_load(&rank->phase) == EP_RANK_RESTS && rank->done.compute_seconds >= 0);
    }
    FUZZ_HOLDS(rank->step <= FUZZ_STEPS);
    FUZZ_HOLDS(rank->got[EP_RANK_RETURN] <= atomic_load(&rank->given[EP_RANK_FORWARD]));
  }
}

static void frames_take(leading *l) {
  ep_node_head head;
  ep_error error = {0};
  while (ep_node_link_head(&l->link, &head, NULL) == EP_OK) {
    ep_status status = ep_exchange_take(&l->exchange, 1, &head, &error);
    FUZZ_HOLDS(status == EP_OK || error.message[0]);
    if (status != EP_OK) return;
    mail_answer(l);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  leading l = {0};
  pthread_t drain;
  if (count == 0) return 0;
  const ep_case *test = fuzz_case(bytes[0]);
  FUZZ_HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, l.ends) == 0);
  FUZZ_HOLDS(pthread_create(&drain, NULL, fuzz_drain, &l.ends[1]) == 0);
  FUZZ_HOLDS(ep_ranks_init(&l.ranks, &test->program, (ep_rank_node){0, 2}, NULL) == EP_OK);
  ep_node_link_init(&l.link, l.ends[0], 0);
  ep_exchange_init(&l.exchange, &l.ranks);
  l.exchange.links[1] = &l.link;
  l.ranks.exchange = &l.exchange;
  ep_exchange_begin(&l.exchange, 0, FUZZ_STEPS);
  pieces_give(&l);
  fuzz_send(l.ends[1], bytes + 1, count - 1);
  shutdown(l.ends[1], SHUT_WR);
  frames_take(&l);
  ep_node_link_break(&l.link);
  pthread_join(drain, NULL);
  ep_exchange_deinit(&l.exchange);
  ep_node_link_deinit(&l.link);
  ep_ranks_deinit(&l.ranks);
  close(l.ends[0]);
  close(l.ends[1]);
  return 0;
}
