package dev.redlock.spring;

import org.springframework.boot.autoconfigure.service.connection.ConnectionDetails;

/**
 * A server in a container that is not dedicated to locks. It has a type of its own because Spring Boot registers one
 * bean for each type of connection details: a container with the name "redlock" precedes this one in any order.
 *
 * @threading any thread
 */
interface ServerConnectionDetails extends ConnectionDetails {
    /** @return the server as a node, when its container has started */
    RedlockConnectionDetails asNode();
}
