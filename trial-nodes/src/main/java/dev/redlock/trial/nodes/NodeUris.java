package dev.redlock.trial.nodes;

import dev.redlock.transport.NodeAddress;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;

/**
 * Addresses in the form that {@code Redlock.connect} takes, with user and password: for connecting, never for printing.
 *
 * @threading any thread
 */
public final class NodeUris {
    /** As text with its password: {@code host:port}, {@code redis://}, {@code rediss://} or {@code unix:///path}. */
    public static String of(NodeAddress address) {
        return uri(address, address);
    }

    /** The credentials and the TLS of a node at another place, such as a proxy before the node. */
    public static NodeAddress at(NodeAddress node, NodeAddress place) {
        return NodeAddress.parse(uri(node, place));
    }

    private static String uri(NodeAddress node, NodeAddress place) {
        if (!node.isTls() && node.password() == null) {
            return place.toString();
        }
        String userInfo = node.password() == null
                ? ""
                : escaped(node.user()) + ":" + escaped(node.password()) + "@";
        return (node.isTls() ? "rediss://" : "redis://") + userInfo + place.toString().replaceFirst("^rediss://", "");
    }

    private static String escaped(String text) {
        return text == null ? "" : URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }
}
