/*
 * The restart guard in its mode FRESH_GROUP: a node votes with a mark of its process. A client marks a node whose
 * quarantine has ended, or all nodes if none has a mark and all are empty.
 */
module fresh
open redlock

one sig
  FewLost,           -- assumption: fewer nodes than a majority lose the keys of a token before it is over
  WholeGroup,        -- a group is fresh if all nodes are, not only a majority
  MarkOfProcess,     -- a mark counts for the process that had it
  VotersAtStart      -- an attempt asks only nodes that voted when it started
extends Rule {}

var sig Marked in Node {}
sig Attempt in Token { var voters: set Node }            -- had a mark when it started, and have not restarted since
fact { Attempt = Token and no Reclaiming }

-- The rule replaces that of redlock.als.
pred plain { one Resource and no Reader and one List and List.members = Node and not on[RestartsSeen] }

pred present {
  (some t: Token | ask[t] or win[t] or extend[t] or winExtension[t] or finish[t]
    or executeAcquire[t] or executeExtension[t] or executeRelease[t]) or expire or drop
  let starting = Trying' - active |
    voters' = voters - starting -> Node + (starting & Attempt) -> Marked
  acquiring' - acquiring in (on[VotersAtStart] implies ~voters' else Marked -> Token)
  extending' - extending in Marked -> Token
  Marked' = Marked
}
pred restarts[n: Node] {
  restart[n] and voters' = voters - Token -> n
  Marked' = Marked - (on[MarkOfProcess] implies n else none)
}
pred mark[n: Node] { no n.lost & counting[n] and Marked' = Marked + n and onlyMarks }
pred markGroup {
  no (Node - Marked).key and Marked' = Node and onlyMarks
  on[WholeGroup] implies no Marked else majority[Node - Marked, Node]
}
pred onlyMarks { voters' = voters and phasesUnchanged and wiresUnchanged and nodesUnchanged and votesUnchanged }
pred fewLost { on[FewLost] implies all t: active | not majority[lost.t, Node] }
pred freshStep {
  keysKept and fewLost and after (keysKept and fewLost)
  present or markGroup or some n: Node | restarts[n] or mark[n]
}
pred freshStart { init and no Marked and no voters }

-- All nodes have restarted since it started, and too few have granted it.
pred isDoomed[t: Token] { t in Trying and no t.voters and t.granted in lost.t and no t.renewed }
pred freshInvariant {
  no Trying & Held and no Trying & Over and no Held & Over and Acting in Held
  let unused = Token - active - Over {
    no unused.granted and no unused.renewed and no unused & Node.(acquiring + extending + releasing + lost + dropped)
    no unused & key[Node].Resource and no unused.voters
  }
  all t: Over | no t.granted and no t.renewed
  no Trying.renewed and no Trying & Node.extending
  all t: Held | enough[t, t.granted]
  Node.releasing in Over
  all n: Node | no t, u: n.key.Resource | excludes[t, u] and some n.key[t] & n.key[u]
  all t: active, n: t.granted + t.renewed | has[n, t] or t in n.lost + n.dropped
  -- Commands are on the way to nodes with a mark only, and acquires to those that voted at the start.
  acquiring in ~voters and Attempt.voters in Marked and extending in Marked -> Token
  -- A node that lost its mark lost its keys, and one that has it again counts for no attempt that can win.
  all t: active, n: t.granted + t.renewed | n in Marked or t in n.lost
  all n: Marked, t: n.lost & counting[n] | isDoomed[t]
  all n: Node | no t, u: { t: counting[n] - n.dropped | not isDoomed[t] } | excludes[t, u]
}

check Start { plain and freshStart implies freshInvariant } for 4 but 5 Node, 4 Int, 1 steps expect 0
check StepFresh { plain and Off = RestartsSeen and freshInvariant and freshStep implies after freshInvariant }
  for 4 but 5 Node, 4 Int, 2 steps expect 0
check ExclusionFresh { plain and Off = RestartsSeen and freshInvariant and keysKept and fewLost implies Exclusion }
  for 4 but 5 Node, 4 Int, 1 steps expect 0

pred without[r: Rule] { Off = RestartsSeen + r and plain and freshStart and always freshStep }
-- Both nodes that granted a lock restart.
run FewLost_ { without[FewLost] and some disj a, b: Token, disj x, y, z: Node {
  markGroup; ask[a]; executeAcquire[a]; win[a]; restarts[x]; restarts[y]; restarts[z]; markGroup;
  ask[b]; executeAcquire[b]; win[b]; not Exclusion
} } for 1 but 2 Token, exactly 3 Node, 3 Int, 13 steps expect 1
-- One node that granted it restarts, and one that did not.
run WholeGroup_ { without[WholeGroup] and some disj a, b: Token, disj x, z: Node {
  markGroup; ask[a]; executeAcquire[a]; win[a]; restarts[x]; restarts[z]; markGroup;
  ask[b]; executeAcquire[b]; win[b]; not Exclusion
} } for 1 but 2 Token, exactly 3 Node, 3 Int, 12 steps expect 1
run MarkOfProcess_ { without[MarkOfProcess] and some disj a, b: Token, x: Node {
  markGroup; ask[a]; executeAcquire[a]; win[a]; restarts[x]; ask[b]; executeAcquire[b]; win[b]; not Exclusion
} } for 1 but 2 Token, exactly 3 Node, 3 Int, 10 steps expect 1
-- a has the vote of one node when all restart, and gets that of another one after it.
run VotersAtStart_ { without[VotersAtStart] and some disj a, b: Token, disj x, y, z: Node {
  markGroup; ask[a]; executeAcquire[a]; restarts[x]; restarts[y]; restarts[z]; markGroup;
  ask[a]; executeAcquire[a]; ask[b]; executeAcquire[b]; win[a]; win[b]; not Exclusion
} } for 1 but 2 Token, exactly 3 Node, 3 Int, 15 steps expect 1
run Possible { without[RestartsSeen] and some disj a, b: Token, x: Node {
  markGroup; ask[a]; executeAcquire[a]; win[a]; restarts[x]; finish[a]; mark[x];
  ask[b]; executeAcquire[b]; win[b]; x in b.granted
} } for 1 but 2 Token, exactly 3 Node, 3 Int, 12 steps expect 1
