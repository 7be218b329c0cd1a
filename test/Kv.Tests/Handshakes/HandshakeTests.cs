using Kv.Tests.Harness;

namespace Kv.Tests.Handshakes;

/// <summary>What each client sends as it connects, and must be answered: in one write, and byte by byte.</summary>
/// <remarks>Most clients send the whole handshake in one packet and match replies by order alone.</remarks>
public class HandshakeTests
{
    private static string Folder { get; } = Path.Combine(AppContext.BaseDirectory, "Handshakes");

    public static TheoryData<string, Framing> All()
    {
        var all = new TheoryData<string, Framing>();
        foreach (string path in Directory.GetFiles(Folder, "*.txt").Order(StringComparer.Ordinal))
            foreach (var framing in Enum.GetValues<Framing>())
                all.Add(Path.GetFileNameWithoutExtension(path), framing);
        return all;
    }

    [Theory]
    [MemberData(nameof(All))]
    public void Kv_answers_every_clients_handshake(string client, Framing framing)
    {
        using var borrowed = SharedServers.Kv();
        Transcript.Run(borrowed.Server, Text(client), 2, framing);
    }

    [Theory]
    [MemberData(nameof(All))]
    public void The_reference_answers_every_clients_handshake(string client, Framing framing)
    {
        using var borrowed = SharedServers.Redis();
        Transcript.Run(borrowed.Server, Text(client), 2, framing);
    }

    private static string Text(string client) => File.ReadAllText(Path.Combine(Folder, client + ".txt"));
}
