Console.WriteLine("kv-server");
