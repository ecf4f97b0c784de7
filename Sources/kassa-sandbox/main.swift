print("kassa-sandbox")
