package dev.redlock.spring;

import java.util.stream.Stream;
import org.springframework.boot.testcontainers.service.connection.ContainerConnectionDetailsFactory;
import org.springframework.boot.testcontainers.service.connection.ContainerConnectionSource;
import org.springframework.util.ClassUtils;
import org.testcontainers.containers.Container;

/**
 * The node of a container of Redis or Valkey with {@code @ServiceConnection}.
 *
 * @threading immutable
 */
final class ServerContainerFactory
        extends
            ContainerConnectionDetailsFactory<Container<?>, ServerConnectionDetails> {

    /** The classes of containers that Spring Boot knows, whatever their image. */
    private static final String[] TYPES = {"com.redis.testcontainers.RedisContainer",
        "com.redis.testcontainers.RedisStackContainer"};

    ServerContainerFactory() {
        super(ContainerNode.IMAGES);
    }

    @Override
    protected boolean sourceAccepts(ContainerConnectionSource<Container<?>> source, Class<?> containerType,
            Class<?> detailsType) {
        return isServer(source, containerType, detailsType);
    }

    static boolean isServer(ContainerConnectionSource<?> source, Class<?> containerType, Class<?> detailsType) {
        ClassLoader loader = ServerContainerFactory.class.getClassLoader();
        return ContainerNode.IMAGES.stream().anyMatch(image -> source.accepts(image, containerType, detailsType))
                || Stream.of(TYPES)
                        .filter(type -> ClassUtils.isPresent(type, loader))
                        .map(type -> ClassUtils.resolveClassName(type, loader))
                        .anyMatch(type -> source.accepts(ANY_CONNECTION_NAME, type, detailsType));
    }

    static ContainerNode nodeOf(Container<?> container, boolean isTls) {
        return new ContainerNode(container.getHost(), container.getMappedPort(ContainerNode.PORT), isTls,
                ContainerNode.passwordOf(container.getDockerImageName(), container.getEnvMap()));
    }

    @Override
    protected ServerConnectionDetails getContainerConnectionDetails(ContainerConnectionSource<Container<?>> source) {
        return new Details(source);
    }

    /** @threading any thread */
    private static final class Details extends ContainerConnectionDetails<Container<?>>
            implements
                ServerConnectionDetails {

        Details(ContainerConnectionSource<Container<?>> source) {
            super(source);
        }

        @Override
        public RedlockConnectionDetails asNode() {
            return nodeOf(getContainer(), getSslBundle() != null);
        }
    }
}
