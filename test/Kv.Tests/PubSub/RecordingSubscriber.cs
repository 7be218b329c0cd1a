using System.Text;
using Kv.Server.PubSub;

namespace Kv.Tests.PubSub;

/// <summary>A subscriber that keeps what it is sent, as text in RESP2.</summary>
internal sealed class RecordingSubscriber : ISubscriber
{
    private readonly List<string> _received = [];

    public SubscriptionSet Subscriptions { get; } = new();

    public IReadOnlyList<string> Received
    {
        get { lock (_received) return [.. _received]; }
    }

    public void Push(SharedMessage message)
    {
        string text = (char)SharedMessage.Prefix(push: false) + Encoding.Latin1.GetString(message.Body);
        message.Release();
        lock (_received) _received.Add(text);
    }

    /// <summary>The payloads alone, in the order of arrival.</summary>
    public IEnumerable<string> Payloads => Received.Select(text => text.Split("\r\n")[^2]);
}
