/*
 * Fencing tokens over independent counters: unique, and greater for each later grant, also while two believe that they
 * hold the lock. There is no rule about time: a key may vanish at any moment.
 */
module fencing
open util/ordering[Number]

abstract sig Rule {}
one sig
  CountersKept,      -- assumption: a counter never decreases
  ExactlyEqual,      -- a majority reached exactly the token, not the token or more
  RaiseIfOwn         -- a raise acts only while the key has the grant's token
extends Rule {}
sig Off in Rule {}
pred on[r: Rule] { r not in Off }

sig Number {}
sig Node { var key: lone Grant, var count: one Number }
sig Grant {                               -- an attempt, and what it becomes
  var reached: Node -> Number,            -- the numbers that the node's counter reached for it
  var raise: lone Number,                 -- of its raise round
  var token: lone Number,                 -- its fencing token
  var earlier: set Grant                  -- had their tokens before it was sent
}
var sig Sent in Grant {}

pred majority[ns: set Node] { #ns > #(Node - ns) }
fun at[g: Grant, v: Number]: set Node { on[ExactlyEqual] implies g.reached.v else g.reached.(v + v.nexts) }

-- An attempt is sent to all nodes: each executes it later, or never.
pred send[g: Grant] {
  g not in Sent and Sent' = Sent + g
  earlier' = earlier + g -> { h: Grant | some h.token }
  key' = key and count' = count and reached' = reached and raise' = raise and token' = token
}
pred grant[g: Grant, n: Node] {
  g in Sent and no g.reached[n] and no n.key
  key' = key + n -> g
  n.count' in n.count.nexts and (all m: Node - n | m.count' = m.count)
  reached' = reached + g -> n -> n.count'
  Sent' = Sent and raise' = raise and token' = token and earlier' = earlier
}
-- The client asks for a raise to the greatest number that it got.
pred startRaise[g: Grant, v: Number] {
  g in Sent and no g.token and no g.raise and v in Node.(g.reached) and Node.(g.reached) in v + v.prevs
  raise' = raise + g -> v
  key' = key and count' = count and reached' = reached and token' = token and Sent' = Sent and earlier' = earlier
}
pred executeRaise[g: Grant, n: Node] {
  some g.raise and g.raise in n.count + n.count.nexts
  on[RaiseIfOwn] implies n.key = g
  count' = count ++ n -> g.raise
  reached' = reached + g -> n -> g.raise
  key' = key and raise' = raise and token' = token and Sent' = Sent and earlier' = earlier
}
pred decide[g: Grant, v: Number] {
  no g.token and v in Node.(g.reached) and majority[at[g, v]]
  token' = token + g -> v
  key' = key and count' = count and reached' = reached and raise' = raise and Sent' = Sent and earlier' = earlier
}
-- Keys expire or are deleted; a release, or any grant that gives up, raises counters.
pred world {
  key' in key
  on[CountersKept] implies all n: Node | n.count' in n.count + n.count.nexts
  reached' = reached and raise' = raise and token' = token and Sent' = Sent and earlier' = earlier
}
pred step {
  (some g: Grant | send[g] or (some n: Node | grant[g, n] or executeRaise[g, n])
    or (some v: Number | startRaise[g, v] or decide[g, v])) or world
}
pred init { no key and no reached and no raise and no token and no earlier and no Sent }

pred Unique { no disj g, h: Grant | some g.token & h.token }
pred Ordered { all g: Grant, h: g.earlier | some g.token implies g.token in h.token.nexts }

pred invariant {
  all g: Grant - Sent | no g.reached and no g.raise and no g.earlier and no g.token and g not in Node.key
  -- A counter is not below a number that it reached. The grant that has the key has the last numbers.
  all n: Node | n.(Grant.reached) in n.count + n.count.prevs
  all n: Node, g: n.key, h: Grant - g |
    some g.reached[n] and all v: g.reached[n] | h.reached[n] in v.prevs
  -- So no number of a node is that of two grants.
  all n: Node | all disj g, h: Grant | no g.reached[n] & h.reached[n]
  -- A majority reached the token, and counted each later grant above it.
  all g: Grant, v: g.token | majority[g.reached.v]
  all h: Grant, g: h.earlier | some g.token and
    majority[{ n: g.reached.(g.token) | h.reached[n] in g.token.nexts }]
}
check Start { init implies invariant } for 3 but 5 Node, 5 Number, 4 Int, 1 steps expect 0
check Step { no Off and invariant and step implies after invariant } for 3 but 5 Node, 5 Number, 4 Int, 2 steps expect 0
check Tokens { no Off and invariant implies Unique and Ordered } for 3 but 5 Node, 5 Number, 4 Int, 1 steps expect 0

pred without[r: Rule] { Off = r and init and always step }
run Raised { no Off and init and always step and eventually (some g: Grant | some g.raise & g.token) }
  for 1 but exactly 3 Node, 3 Number, 3 Int, 8 steps expect 1
run CountersKept_ { without[CountersKept] and eventually not Unique }
  for 1 but exactly 2 Grant, exactly 3 Node, 3 Number, 3 Int, 12 steps expect 1
run ExactlyEqual_ { without[ExactlyEqual] and eventually not Unique }
  for 1 but exactly 2 Grant, exactly 3 Node, 3 Number, 3 Int, 12 steps expect 1
-- The raise of g arrives after its key: h has counted to the same number.
run RaiseIfOwn_ { without[RaiseIfOwn] and some disj g, h: Grant, disj x, y, z: Node, v: Number {
  send[g]; grant[g, x]; grant[g, y]; startRaise[g, v]; world; send[h]; grant[h, y]; grant[h, z]; decide[h, v];
  executeRaise[g, y]; decide[g, v]; not Unique
} } for 1 but exactly 2 Grant, exactly 3 Node, 3 Number, 3 Int, 12 steps expect 1
