package dev.redlock.telemetry;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/**
 * A node's change of state.
 *
 * @threading event-loop-confined
 */
@Name("dev.redlock.NodeState")
@Label("Redlock Node State")
@Category({"Redlock"})
@Description("A node's change of state, seen by one event loop of the client")
@Enabled(false)
@StackTrace(false)
public final class NodeStateEvent extends Event {

    @Label("Node")
    @Description("Address without user and password")
    public String node;

    @Label("Old State")
    public String oldState;

    @Label("New State")
    public String newState;

    @Label("Reason")
    @Description("Why the node does not vote, if there is a reason")
    public String reason;
}
