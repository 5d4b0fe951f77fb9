/* What happens without an assumption: the shortest history that ends with two holders. */
module limits
open redlock

pred oneList { one Resource and no Reader and Client.lists.members = Node }
pred twoWithout[r: Rule] { Off = r and history and eventually not Exclusion }

run KeysOutlive_ { oneList and twoWithout[KeysOutlive] }
  for 1 but exactly 2 Token, exactly 3 Node, 3 Int, 12 steps expect 1
run HoldersStop_ { oneList and twoWithout[HoldersStop] }
  for 1 but exactly 2 Token, exactly 3 Node, 3 Int, 12 steps expect 1
run KeysKept_ { oneList and twoWithout[KeysKept] }
  for 1 but exactly 2 Token, exactly 3 Node, 3 Int, 12 steps expect 1
run RestartsSeen_ { oneList and twoWithout[RestartsSeen] }
  for 1 but exactly 2 Token, exactly 3 Node, 3 Int, 12 steps expect 1
run OneProcess_ { oneList and twoWithout[OneProcess] }
  for 1 but exactly 2 Token, exactly 3 Node, 3 Int, 12 steps expect 1
run ListsOverlap_ { (all l: List | #l.members = 3) and twoWithout[ListsOverlap] }
  for 1 but exactly 2 Token, 2 List, 2 Client, exactly 4 Node, 4 Int, 12 steps expect 1
