namespace Kv.Server.PubSub;

/// <summary>The three namespaces of subscriptions, which know nothing of each other.</summary>
internal enum SubscriptionKind { Channel, Pattern, ShardChannel }
