namespace Kv.Tests.Network;

/// <summary>Both transports, for tests of what must be the same on either.</summary>
public static class Transports
{
    public static TheoryData<string> Both => OperatingSystem.IsLinux() ? ["epoll", "pipelines"] : ["pipelines"];
}
