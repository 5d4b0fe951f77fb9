/*
 * All histories of 14 steps from the start, without the invariant: three clients with an attempt each.
 *
 * A step is more than one of redlock.als: all clients act at once, or all nodes (Covers). Less has to be tried
 * because a client has sent all that it may (`eagerly`), which a node may execute late or never. So attempts need no
 * step to start. Nor do they need one to win: who has the votes `holds` the lock.
 */
module bounded
open redlock

pred setting { one Resource and no Reader and one List and one Client and Client.lists.members = Node }

-- Clients ----------------------------------------------------------------------------------------------------------

pred clients {
  nodesUnchanged and all n: Node | sends[n, Token]
  all t: Token | idles[t] or wins[t] or finishes[t] or extension[t]
}
pred samePhase[t: Token] {
  (t in Trying' iff t in Trying) and (t in Held' iff t in Held) and (t in Over' iff t in Over)
  t in Acting' iff t in Acting
}
pred sameVotes[t: Token] { t.granted' = t.granted and t.renewed' = t.renewed }
pred idles[t: Token] { samePhase[t] and sameVotes[t] }
pred wins[t: Token] {
  t in Trying and enough[t, t.granted] and t in Held' & Acting' and t not in Trying' + Over' and sameVotes[t]
}
pred finishes[t: Token] {
  t in active and t in Over' and t not in Trying' + Held' + Acting' and no t.granted' and no t.renewed'
}
pred extension[t: Token] { -- starts a round, or wins it
  t in Held and samePhase[t] and no t.renewed'
  t.granted' = t.granted or enough[t, t.renewed] and t.granted' = t.renewed
}

-- Nodes ------------------------------------------------------------------------------------------------------------

pred nodes { phasesUnchanged and all n: Node | serves[n] and sends[n, Token] or restarts[n] and sends[n, none] }
pred serves[n: Node] {
  n.key' = n.key and sameLosses[n] and sameCounts[n]
  or expires[n] or drops[n] or some t: Token | acquires[n, t] or renews[n, t] or frees[n, t]
}
pred sameLosses[n: Node] { n.lost' = n.lost and n.dropped' = n.dropped }
pred sameCounts[n: Node] { granted'.n = granted.n and renewed'.n = renewed.n }
pred acquires[n: Node, t: Token] {
  t in n.acquiring and no n.key[t] and isFree[n, t] and n.key' = n.key + t -> t.needs
  granted'.n = granted.n + (t & active) and renewed'.n = renewed.n
  n.lost' = n.lost - t and n.dropped' = n.dropped - t
}
pred renews[n: Node, t: Token] {
  t in n.extending and isFree[n, t] and n.key' = n.key + t -> t.needs and granted'.n = granted.n
  has[n, t] implies (renewed'.n = renewed.n + (t & Held) and n.lost' = n.lost - t and n.dropped' = n.dropped - t)
    else (renewed'.n = renewed.n and sameLosses[n])
}
pred frees[n: Node, t: Token] {
  t in n.releasing and n.key' = n.key - t -> t.needs and sameLosses[n] and sameCounts[n]
}
pred expires[n: Node] {
  n.key' in n.key and no (n.key - n.key').Resource & counting[n] and sameLosses[n] and sameCounts[n]
}
pred drops[n: Node] {
  n.key' in n.key and n.dropped' = n.dropped + (n.key - n.key').Resource and n.lost' = n.lost and sameCounts[n]
}
pred restarts[n: Node] {
  n.key' in n.key and n.lost' = n.lost + counting[n] and n.dropped' = n.dropped and sameCounts[n]
}

-- Commands on the way ------------------------------------------------------------------------------------------------

pred sends[n: Node, kept: set Token] {
  n.acquiring' in n.acquiring & kept + { t: Trying' | after not inQuarantine[n] }
  n.extending' in n.extending & kept + { t: Held' | after not inQuarantine[n] }
}
pred eagerly { all n: Node | inQuarantine[n] or Trying in n.acquiring and Held in n.extending }
-- Each token has been used, and a lease that has ended is released everywhere.
pred used { Token = active + Over and releasing = Node -> Over }

-- Each step of redlock.als is one here.
check Covers { no Off and setting and used and invariant and event implies clients or nodes }
  for 1 but 3 Token, 5 Node, 4 Int, 2 steps expect 0

-- Histories ----------------------------------------------------------------------------------------------------------

pred starts {
  Trying = Token and acquiring = Node -> Token and no Held + Over + Acting
  no key and no extending and no lost and no dropped and no granted and no renewed
}
pred bounded { setting and starts and always (used and eagerly and keysKept and (clients or nodes)) }

-- Two of the three tokens, and two nodes: X has granted both, and Y the first.
one sig A, B extends Token {}
one sig X, Y extends Node {}
pred holds[t: Token] { t in Held or t in Trying and enough[t, t.granted] and enough[t, t.granted - dropped.t] }
pred two { holds[A] and holds[B] and X in A.granted & B.granted and Y in A.granted }

-- The first state and 14 steps.
check Three { no Off and bounded implies always not two }
  for 1 but exactly 3 Token, exactly 3 Node, 3 Int, 15 .. 15 steps expect 0
check Five { no Off and bounded implies always not two }
  for 1 but exactly 3 Token, exactly 5 Node, 4 Int, 15 .. 15 steps expect 0
-- It finds two holders where there are some.
run Three_ { Off = GuardAttempts and bounded and eventually two }
  for 1 but exactly 3 Token, exactly 3 Node, 3 Int, 15 .. 15 steps expect 1
