/*
 * Why a key outlives the lease that counts it: the rule KeysOutlive of redlock.als, from the client's arithmetic.
 *
 * One client and one node: nothing here depends on the others. Times are what is left, by the client's clock, so the
 * state has no date. A key lives for its ttl, at least less `drift`: the assumption about clocks.
 */
module timed

abstract sig Rule {}
one sig
  ClocksClose,       -- assumption: a key lives at least for its ttl less the allowance
  FirstByte,         -- t1 is taken before the first byte is sent, not when the votes are there
  Allowance,         -- the validity is less by the allowance for clocks
  OwnT1,             -- an extension counts from its own start, not from the end of the present validity
  OldVotesEnd,       -- a vote for an earlier round is none for this one
  LowerFirst,        -- a shorter extension shortens the validity before it is sent
  OnlyLengthen,      -- the script of an extension never sets an earlier expiry
  LateShortens       -- a conditional set may: while one by less is late, the node is no vote for more
extends Rule {}
sig Off in Rule {}
pred on[r: Rule] { r not in Off }

one sig Node {
  var left: Int,     -- of the key; 0 is none
  var sent: set Int, -- ttls of commands of this round on the way
  var late: set Int  -- and of earlier rounds: they may be executed at any time, again and again, or never
}
sig ConditionalSet in Node {}           -- it extends by SET IFEQ PX instead of by script
one sig Client { var valid, round: Int } -- what is left of the validity; and what it is if the open round wins now
var sig Counted, Voted in Node {}        -- the lease rests on the node's key; it voted in the open round

fun allowance: Int { on[Allowance] implies 1 else 0 }
fun less[a: Int]: Int { a > 0 implies a.minus[1] else 0 }
fun min[a, b: Int]: Int { a < b implies a else b }
fun max[a, b: Int]: Int { a > b implies a else b }
pred lives[life, ttl: Int] { life >= (on[ClocksClose] implies ttl.minus[1] else 0) and life <= ttl.plus[1] }

pred tick {
  valid' = Client -> Client.valid.less and round' = Client -> Client.round.less and left' = Node -> Node.left.less
  sent' = sent and late' = late and votesUnchanged
}
-- An attempt or an extension starts.
pred start[ttl: Int] {
  ttl > 1 and ttl < 7
  round' = Client -> (on[OwnT1] implies 0 else Client.valid).plus[ttl].minus[allowance]
  valid' = Client -> (on[LowerFirst] implies min[Client.valid, ttl.minus[allowance]] else Client.valid)
  sent' = Node -> ttl and late' = late + sent and left' = left
  Counted' = Counted and (on[OldVotesEnd] implies no Voted' else Voted' = Voted)
}
-- The node sets or renews the key, and its reply arrives or is lost.
pred execute[ttl: Int] {
  ttl in Node.(sent + late)
  some life: Int | lives[life, ttl] and left' = Node ->
    ((no ConditionalSet and on[OnlyLengthen]) implies max[Node.left, life] else life)
  sent' = sent - Node -> ttl and late' = late and valid' = valid and round' = round and Counted' = Counted
  Voted in Voted' and (some Voted' - Voted implies ttl in Node.sent and not mayShorten[ttl])
}
pred mayShorten[ttl: Int] { on[LateShortens] and some ConditionalSet and some l: Node.late | l < ttl }
pred win {
  some Voted and Client.round > 0
  valid' = Client -> (on[FirstByte] implies Client.round else Client.round.plus[1])
  Counted' = Voted and no Voted' and round' = Client -> 0 and sent' = sent and late' = late and left' = left
}
pred votesUnchanged { Counted' = Counted and Voted' = Voted }
pred step { tick or win or some ttl: Int | start[ttl] or execute[ttl] }

pred init {
  Node.left = 0 and no sent and no late and Client.valid = 0 and Client.round = 0 and no Counted + Voted
}

-- A key that is counted is there while the lease is valid.
pred outlives { all n: Counted | Client.valid > 0 implies n.left > 0 }

pred invariant {
  Node.left >= 0 and Client.valid >= 0 and Client.round >= 0
  Client.valid < 7 and Client.round < 7 and Node.left <= 7
  Node.(sent + late) in { i: Int | i > 1 and i < 7 }
  all s: Node.sent | Client.round < s
  some Counted implies Client.valid <= Node.left
  some Voted implies Client.round <= Node.left
  some ConditionalSet and some Counted implies all l: Node.(sent + late) | Client.valid < l
  some ConditionalSet and some Voted implies all l: Node.late | Client.round < l
}

check Start { init implies invariant } for 1 but 4 Int, 1 steps expect 0
check Step { no Off and invariant and step implies after invariant } for 1 but 4 Int, 2 steps expect 0
check Outlives { invariant implies outlives } for 1 but 4 Int, 1 steps expect 0
run Extended { no Off and init and always step and eventually (Client.valid = 2 and after Client.valid = 4) }
  for 1 but 4 Int, 12 steps expect 1

-- Without a rule, the key expires within the validity. A semicolon is "and then".
pred without[r: Rule, conditional: set Node] { Off = r and ConditionalSet = conditional and init }
run ClocksClose_ { without[ClocksClose, none] and {
  start[4]; execute[4]; win; tick; not outlives } } for 1 but 4 Int, 5 steps expect 1
run FirstByte_ { without[FirstByte, none] and {
  start[4]; execute[4]; win; tick; tick; tick; not outlives } } for 1 but 4 Int, 7 steps expect 1
run Allowance_ { without[Allowance, none] and {
  start[4]; execute[4]; win; tick; tick; tick; not outlives } } for 1 but 4 Int, 7 steps expect 1
run OwnT1_ { without[OwnT1, none] and {
  start[3]; execute[3]; win; start[3]; execute[3]; win; tick; tick; not outlives } } for 1 but 4 Int, 9 steps expect 1
run OldVotesEnd_ { without[OldVotesEnd, none] and {
  start[4]; execute[4]; tick; tick; start[4]; win; tick; not outlives } } for 1 but 4 Int, 8 steps expect 1
run LowerFirst_ { without[LowerFirst, Node] and {
  start[6]; execute[6]; win; start[2]; execute[2]; tick; not outlives } } for 1 but 4 Int, 7 steps expect 1
run OnlyLengthen_ { without[OnlyLengthen, none] and {
  start[2]; start[6]; execute[6]; win; execute[2]; tick; not outlives } } for 1 but 4 Int, 7 steps expect 1
run LateShortens_ { without[LateShortens, Node] and {
  start[2]; start[6]; execute[6]; win; execute[2]; tick; not outlives } } for 1 but 4 Int, 7 steps expect 1
